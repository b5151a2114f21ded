"""A librdkafka member of a group that logs each record it reads and each commit; see readers.py."""

import signal
import sys
import time

from confluent_kafka import OFFSET_END, Consumer, KafkaException, TopicPartition

from workshop.reads.readers import STEP_BACK, ReaderLog, options_of


def main() -> None:
    """Read until SIGTERM."""
    options = options_of(sys.argv[1:])
    log, habit, topic = ReaderLog(options["log"]), options["habit"], options["topic"]
    settings = {
        "bootstrap.servers": options["servers"],
        "group.id": options["group"],
        "client.id": options["name"],
        "auto.offset.reset": options["reset"],
        "enable.auto.commit": False,
        "group.protocol": options["protocol"],
        "log_level": 2,
    }
    if options["protocol"] == "classic":
        settings |= {"session.timeout.ms": options["session_ms"], "heartbeat.interval.ms": 500}
    consumer = Consumer(settings)
    read: dict[int, int] = {}
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))

    def commit() -> None:
        if not read:
            return
        offsets = [TopicPartition(topic, number, offset) for number, offset in read.items()]
        try:
            done = consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as problem:
            log.write("refused", problem.args[0].name())
            return
        for each in done or ():
            if each.error is None:
                log.write("committed", each.partition, each.offset)
            else:
                log.write("refused", each.error.name())

    def is_assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
        log.write("assigned", ",".join(str(each.partition) for each in partitions))
        if habit == "seek_to_end":
            for each in partitions:
                each.offset = OFFSET_END
        elif habit == "seek_back":
            for each in consumer.committed(partitions, timeout=30):
                mine = next(one for one in partitions if one.partition == each.partition)
                mine.offset = max(0, each.offset - STEP_BACK) if each.offset > 0 else each.offset
        consumer.incremental_assign(partitions) if is_incremental else consumer.assign(partitions)

    def is_revoked(_: Consumer, partitions: list[TopicPartition]) -> None:
        log.write("revoked", ",".join(str(each.partition) for each in partitions))
        if habit != "careless":
            commit()
        for each in partitions:
            read.pop(each.partition, None)

    def is_lost(_: Consumer, partitions: list[TopicPartition]) -> None:
        log.write("lost", ",".join(str(each.partition) for each in partitions))
        for each in partitions:
            read.pop(each.partition, None)

    is_incremental = options["protocol"] == "consumer"
    consumer.subscribe([topic], on_assign=is_assigned, on_revoke=is_revoked, on_lost=is_lost)
    every_s = int(options["commit_ms"]) / 1000
    next_s = time.monotonic() + every_s
    while not stopped:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            number, offset = message.partition(), message.offset()
            assert number is not None
            assert offset is not None
            read[number] = offset + 1
            log.write("read", number, offset, (message.value() or b"").decode())
        if time.monotonic() >= next_s:
            commit()
            next_s = time.monotonic() + every_s
    log.write("stopping")
    consumer.close()
    log.write("closed")


if __name__ == "__main__":
    main()
