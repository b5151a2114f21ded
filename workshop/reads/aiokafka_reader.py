"""An aiokafka member of a group that logs each record it reads and each commit; see readers.py."""

import asyncio
import signal
import sys
import time
from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

from workshop.reads.readers import STEP_BACK, ReaderLog, options_of


class Reader(ConsumerRebalanceListener):  # type: ignore[misc] # it has no types
    """One member; it reads until SIGTERM."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._log = ReaderLog(options["log"])
        self._topic = options["topic"]
        self._read: dict[int, int] = {}
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=options["servers"],
            group_id=options["group"],
            client_id=options["name"],
            auto_offset_reset=options["reset"],
            enable_auto_commit=False,
            session_timeout_ms=int(options["session_ms"]),
            heartbeat_interval_ms=500,
        )

    async def run(self) -> None:
        """Start, read, stop."""
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        consumer, every_s = self._consumer, int(self._options["commit_ms"]) / 1000
        consumer.subscribe([self._topic], listener=self)
        await consumer.start()
        next_s = time.monotonic() + every_s
        while not stopped.is_set():
            for records in (await consumer.getmany(timeout_ms=100)).values():
                for each in records:
                    self._read[each.partition] = each.offset + 1
                    self._log.write("read", each.partition, each.offset, each.value.decode())
            if time.monotonic() >= next_s:
                await self._commit()
                next_s = time.monotonic() + every_s
        self._log.write("stopping")
        if self._options["habit"] != "careless":
            await self._commit()
        await consumer.stop()
        self._log.write("closed")

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Commit before a rebalance, unless that is not the member's habit."""
        numbers = [each.partition for each in revoked]
        self._log.write("revoked", ",".join(map(str, numbers)))
        if self._options["habit"] != "careless":
            await self._commit()
        for number in numbers:
            self._read.pop(number, None)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Seek, if that is the member's habit."""
        partitions = list(assigned)
        self._log.write("assigned", ",".join(str(each.partition) for each in partitions))
        for each in partitions:
            if self._options["habit"] == "seek_to_end":
                await self._consumer.seek_to_end(each)
            elif self._options["habit"] == "seek_back":
                committed = await self._consumer.committed(each)
                if committed is not None:
                    self._consumer.seek(each, max(0, committed - STEP_BACK))

    async def _commit(self) -> None:
        offsets = {TopicPartition(self._topic, each): next_ for each, next_ in self._read.items()}
        if not offsets:
            return
        try:
            await self._consumer.commit(offsets)
        except KafkaError as problem:
            self._log.write("refused", type(problem).__name__)
            return
        for each, offset in offsets.items():
            self._log.write("committed", each.partition, offset)


async def main() -> None:
    """Read until SIGTERM."""
    await Reader(options_of(sys.argv[1:])).run()


if __name__ == "__main__":
    asyncio.run(main())
