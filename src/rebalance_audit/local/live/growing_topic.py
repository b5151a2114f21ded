"""A live cluster's `__consumer_offsets`, fetched from the leaders of its partitions.

Nothing is written to the cluster: no group is joined and no offset committed. Batches are fetched as they are in the
log, since only they have the coordinator's leader epoch, and since no object is made for each offset commit.
"""

import asyncio
import logging
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import (
    KafkaError,
    NoError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
    for_code,
)
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.offset import OffsetRequest

from rebalance_audit.local.live.growth import Break, Growth, end_of, pieces
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, SourceNotReadable

CLIENT_ID: Final = "rebalance-audit-watch"
WAIT_MS: Final = 250
"""How long a broker waits for a first record before it answers that there is none."""
PAUSE_S: Final = 0.25
"""Before a cluster that did not answer is asked again."""
PARTITION_BYTES: Final = 4 << 20
RESPONSE_BYTES: Final = 32 << 20
_READ_UNCOMMITTED: Final = 0
_EARLIEST: Final = -2
_LATEST: Final = -1


_Answer: TypeAlias = tuple[int, bytes | Break, int]
"""Partition, its batches, and the end of its log; a Break leaves the end open."""


class GrowingTopic:
    """All partitions of the topic. A broker that goes away is waited for; leaders may move."""

    def __init__(
        self, servers: Sequence[str], login: Mapping[str, Any], timeout_ms: int, client_id: str
    ) -> None:
        """`login`: arguments of aiokafka's client that say how to log in. Connects on the first call of `read`."""
        # It logs each attempt that fails; `problem` is the last one.
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        self._servers = list(servers)
        self._login = dict(login)
        self._timeout_ms = timeout_ms
        self._client_id = client_id
        self._loop = asyncio.new_event_loop()
        self._client: AIOKafkaClient | None = None
        self._next: dict[int, int] = {}
        """Log partition -> offset to fetch next."""
        self._behind: set[int] = set()
        self.problem = ""
        self._spool = tempfile.NamedTemporaryFile(prefix="rebalance-audit-", suffix=".log")  # noqa: SIM115

    def read(self) -> Iterator[Growth]:
        """What one round of fetches brings. Raises SourceNotReadable where the topic may not be read."""
        try:
            answers = self._loop.run_until_complete(self._round())
        except TopicAuthorizationFailedError:
            raise SourceNotReadable(
                f"Kafka at {','.join(self._servers)} does not let this user read {OFFSETS_TOPIC}."
            ) from None
        for number, answer, end in answers:
            if isinstance(answer, Break):
                yield number, answer
            else:
                if answer:
                    yield from self._pieces(number, answer)
                if self._next[number] >= end:
                    self._behind.discard(number)

    @property
    def is_at_end(self) -> bool:
        """Whether every partition has been read up to the end that its leader reported last."""
        return bool(self._next) and not self._behind

    def close(self) -> None:
        """Close connections and the spool file."""
        if self._client is not None:
            self._loop.run_until_complete(self._client.close())
            self._client = None
        self._loop.close()
        self._spool.close()

    async def _round(self) -> list[_Answer]:
        self.problem = ""
        try:
            client = await self._connected()
            by_leader = await self._by_leader(client)
        except TopicAuthorizationFailedError:
            raise
        except (KafkaError, OSError, TimeoutError) as error:
            await self._troubled(_sentence(error))
            return []
        asked = (self._fetch(client, node, numbers) for node, numbers in by_leader.items())
        found = await asyncio.gather(*asked, return_exceptions=True)
        answers: list[_Answer] = []
        for each in found:
            if isinstance(each, TopicAuthorizationFailedError):
                raise each
            if isinstance(each, KafkaError | OSError | TimeoutError):
                await self._troubled(_sentence(each))
            elif isinstance(each, BaseException):
                raise each
            else:
                answers += each
        return answers

    async def _connected(self) -> AIOKafkaClient:
        if self._client is None:
            client = AIOKafkaClient(
                bootstrap_servers=self._servers,
                client_id=self._client_id,
                request_timeout_ms=self._timeout_ms,
                metadata_max_age_ms=10_000,
                **self._login,
            )
            try:
                await client.bootstrap()
            except BaseException:
                await client.close()
                raise
            self._client = client
            await client.set_topics([OFFSETS_TOPIC])
        return self._client

    async def _troubled(self, why: str) -> None:
        """Say so, ask who leads what now, and leave the cluster a moment."""
        self.problem = why
        if self._client is not None:
            self._client.force_metadata_update()
        await asyncio.sleep(PAUSE_S)

    async def _by_leader(self, client: AIOKafkaClient) -> dict[int, list[int]]:
        """Broker -> partitions that it leads and whose next offset is known."""
        by_leader: dict[int, list[int]] = defaultdict(list)
        without: int | None = None
        for number in sorted(client.cluster.partitions_for_topic(OFFSETS_TOPIC) or ()):
            leader = client.cluster.leader_for_partition(TopicPartition(OFFSETS_TOPIC, number))
            if leader is None or leader == -1:
                without = number
            else:
                by_leader[leader].append(number)
        if without is not None:
            await self._troubled(f"partition {without} of {OFFSETS_TOPIC} has no leader")
        for leader, numbers in by_leader.items():
            new = [number for number in numbers if number not in self._next]
            if new:
                self._next |= await self._ends(client, leader, new, _EARLIEST)
                self._behind.update(new)
        return {
            leader: [number for number in numbers if number in self._next]
            for leader, numbers in by_leader.items()
        }

    async def _ends(
        self, client: AIOKafkaClient, leader: int, numbers: Sequence[int], wanted: int
    ) -> dict[int, int]:
        """Partition -> one end of its log. Raises KafkaError."""
        request = OffsetRequest(
            -1, _READ_UNCOMMITTED, [(OFFSETS_TOPIC, [(number, wanted) for number in numbers])]
        )
        response = await client.send(leader, request)
        found = {}
        for _, partitions in response.topics:
            for number, code, _, offset in partitions:
                if for_code(code) is not NoError:
                    raise for_code(code)(OFFSETS_TOPIC)
                found[number] = offset
        return found

    async def _fetch(
        self, client: AIOKafkaClient, leader: int, numbers: Sequence[int]
    ) -> list[_Answer]:
        wanted = [(number, self._next[number], PARTITION_BYTES) for number in numbers]
        request = FetchRequest(
            WAIT_MS, 1, RESPONSE_BYTES, _READ_UNCOMMITTED, [(OFFSETS_TOPIC, wanted)]
        )
        response = await client.send(leader, request)
        answers: list[_Answer] = []
        trouble = ""
        for _, partitions in response.topics:
            for number, code, high_watermark, *_, batches in partitions:
                error = for_code(code)
                if error is OffsetOutOfRangeError:
                    answers += await self._out_of_range(client, leader, number)
                elif error is TopicAuthorizationFailedError:
                    raise error(OFFSETS_TOPIC)
                elif error is not NoError:
                    trouble = _sentence(error(OFFSETS_TOPIC))
                else:
                    self._behind.add(number)
                    answers.append((number, batches or b"", high_watermark))
        if trouble:
            await self._troubled(trouble)
        return answers

    async def _out_of_range(
        self, client: AIOKafkaClient, leader: int, number: int
    ) -> list[_Answer]:
        """The log begins later than what comes next, or ends before it."""
        begin = (await self._ends(client, leader, [number], _EARLIEST))[number]
        end = (await self._ends(client, leader, [number], _LATEST))[number]
        self._behind.add(number)
        if self._next[number] < begin:
            self._next[number] = begin
            return [(number, Break.LOST, end)]
        if self._next[number] > end:
            self._next[number] = begin
            return [(number, Break.TRUNCATED, end)]
        return []

    def _pieces(self, number: int, batches: bytes) -> Iterator[Growth]:
        """The records of fetched batches, by the reader of segment files."""
        file = Path(self._spool.name)
        file.write_bytes(batches)
        end = end_of(file, 0, is_last=True)
        for found in pieces(file, 0, end.byte, self._next[number], None):
            yield number, found
        if end.offset is not None:
            self._next[number] = max(self._next[number], end.offset)


def _sentence(error: BaseException) -> str:
    text = str(error).partition("\n")[0].rstrip(".")
    return text or type(error).__name__
