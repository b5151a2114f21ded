"""Brokers fail to load logs with faults; what `recover` plans for them is done, and compared with the last good state.

Every case of `lab_load` that the coordinator of the release fails at becomes a log with commits of other groups before
and behind it. The last good state is what a broker shows that loads the records before the cut alone. The plan's own
commands run on a third broker, where the partitions are empty and topics hold as many records.

    python -m workshop.lab_recover [RELEASE [N]]     with N: every Nth case alone
"""

import re
import struct
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from rebalance_audit.recover.plan import RecoveryPlan, plan_for, planned_partitions
from rebalance_audit.recover.plan_files import write_plan
from rebalance_audit.recover.steps import COMPARE, DRY_RUN, EXECUTE, steps_of
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord, encode_batch
from rebalance_audit.sim.brokers.batch_writer import Producer as LogProducer
from rebalance_audit.verify.coordinators import Coordinator
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, open_log_folder
from tests.support.batches import Batch, read_batches
from tests.support.broker import Broker
from tests.support.plan_commands import run_plan_commands
from workshop.lab.connection import Connection
from workshop.lab_load.cases import CASES
from workshop.lab_load.lab import NEW_COORDINATOR, Lab, NotStartedError, Segment, loaded, prepared
from workshop.lab_load.logs import Log, encoded_log, group_at, key_bytes, raw
from workshop.lab_load.truth import read_truth, truth_path
from workshop.lab_load.view import VERSIONS, offset_answers

RECORDS_MAX: Final = 5_000
"""Of each partition of a topic: offsets above have no records here."""
PATIENCE_S: Final = 120
_DESCRIBED: Final = re.compile(r"(\S+) +(\S+) +(\d+) +(\d+) +\d+ +-?\d+ .*")

Offsets = dict[tuple[str, str, int], int]
"""Group, topic, partition -> committed offset."""


def failing_logs(release: str) -> dict[int, bytes]:
    """Partition -> a log that the release fails at, with commits of groups before and behind the fault."""
    cases = read_truth(truth_path(release, NEW_COORDINATOR))["cases"]
    return {
        number: encoded_log(_between_commits(case.log), number, CASES.partition_count)
        for number, case in enumerate(CASES.cases)
        if cases[case.case_id].get("loaded") is False
    }


def _between_commits(log: Log) -> Log:
    before = raw(*(_commit("before", number, 10 + number) for number in range(3)))
    moved = tuple(
        batch._replace(
            records=tuple(
                each._replace(log_offset=each.log_offset + len(before)) for each in batch.records
            )
        )
        for batch in log
    )
    end = max(each.log_offset for batch in moved for each in batch.records) + 1
    behind = raw(_commit("before", 0, 40), _commit("behind", 0, 41), from_offset=end)
    return (*before, *moved, *behind)


def _commit(group_id: str, number: int, committed: int) -> tuple[bytes, bytes]:
    value = struct.pack(">hqihq", 3, committed, -1, 0, 1_790_000_000_000)
    return key_bytes(1, group_id, "foo", partition=number), value


def write_log(folder: Path, logs: Mapping[int, bytes]) -> Path:
    """A folder of segments."""
    for number, data in logs.items():
        partition = folder / f"{OFFSETS_TOPIC}-{number}"
        partition.mkdir(parents=True)
        (partition / f"{0:020}.log").write_bytes(data)
    return folder


def records_before(segment: Path, cut_offset: int) -> bytes:
    """The log up to that offset, as if it had been written no further."""
    out = b""
    for batch in read_batches(segment):
        if not isinstance(batch, Batch) or batch.header.base_offset >= cut_offset:
            break
        if batch.header.last_offset < cut_offset:
            begin = batch.header.byte_position
            out += segment.read_bytes()[begin : begin + batch.header.size_bytes]
            continue
        records = batch.records()
        if isinstance(records, list):
            kept = [LoggedRecord(*each) for each in records if each.log_offset < cut_offset]
            producer = LogProducer(batch.header.producer_id, batch.header.producer_epoch)
            out += encode_batch(kept, 0, producer=producer) if kept else b""
        break
    return out


def planned(plan: RecoveryPlan) -> Offsets:
    """What the files set."""
    return {
        (row.group_id, row.topic, row.partition): row.committed_offset
        for file in plan.files
        for row in file.rows
    }


def committed(broker: Broker, group_ids: Iterable[str]) -> tuple[Offsets, dict[str, int]]:
    """What a broker has, and the error of each group that it does not serve."""
    found: Offsets = {}
    errors: dict[str, int] = {}
    with closing(Connection(broker.port, broker.jars, "lab-recover", VERSIONS)) as connection:
        for group in offset_answers(connection, group_ids):
            if group["error_code"]:
                errors[group["group_id"]] = group["error_code"]
            for topic in group["topics"]:
                for each in topic["partitions"]:
                    at = (group["group_id"], topic["name"], each["partition_index"])
                    found[at] = each["committed_offset"]
    return found, errors


def fill(broker: Broker, wanted: Offsets) -> None:
    """Topics with as many records as the offsets need."""
    ends: dict[str, dict[int, int]] = {}
    for (_, topic, number), at in wanted.items():
        numbers = ends.setdefault(topic, {})
        numbers[number] = max(numbers.get(number, 0), at)
    new = [NewTopic(topic, max(numbers) + 1, 1) for topic, numbers in ends.items()]
    admin = broker.admin()
    for made in admin.create_topics(new).values():
        made.result()
    producer = Producer({**broker.client_settings, "queue.buffering.max.messages": 1_000_000})
    for topic, numbers in ends.items():
        for number, end in numbers.items():
            for _ in range(min(end, RECORDS_MAX)):
                producer.produce(topic, b"", partition=number)
    assert producer.flush(PATIENCE_S) == 0


def described(printed: str) -> Offsets:
    """What `--describe` says."""
    rows = filter(None, map(_DESCRIBED.fullmatch, printed.splitlines()))
    return {(row[1], row[2], int(row[3])): int(row[4]) for row in rows}


def recovered(release: str, every: int, folder: Path) -> Iterator[str]:
    """Lines about what was found; the last one sums up."""
    logs = dict([*failing_logs(release).items()][::every])
    source = write_log(folder / "log", logs)
    coordinator = Coordinator(release, "new")
    began = time.monotonic()
    found = [*planned_partitions(open_log_folder(source), coordinator)]
    plan = plan_for(found, str(coordinator))
    write_plan(folder / "plan", plan, b"{}")
    seconds = time.monotonic() - began
    yield f"{len(logs)} logs; planned for {len(found)} in {seconds:.1f} s"
    missed = sorted(set(logs) - {each.account.log_partition for each in found})
    yield from (f"  {CASES.cases[number].case_id}: no plan" for number in missed)

    lab = prepared(release, NEW_COORDINATOR, folder / "lab", CASES.partition_count)
    group_ids = {group.group_id for group in plan.groups if group.certain}
    unplanned = {group_at("before", number, CASES.partition_count) for number in missed}
    served, stopped = _not_loaded(lab, logs, group_ids | unplanned)
    yield f"{len(group_ids)} groups with certain offsets; a broker serves {len(group_ids & served)} of them"
    yield f"{len(missed)} logs without a plan; a broker serves {len(unplanned & served)} of them"
    yield f"{stopped} logs keep a broker from starting"
    yield from (f"  served: {group_id}" for group_id in sorted(group_ids & served))

    good = {
        each.account.log_partition: Segment(
            records_before(
                source / f"{OFFSETS_TOPIC}-{each.account.log_partition}" / f"{0:020}.log",
                len(logs[each.account.log_partition])
                if each.account.cut_offset is None
                else each.account.cut_offset,
            )
        )
        for each in found
    }
    with loaded(lab, "good", good) as (broker, _):
        last_good, errors = committed(broker, group_ids)
        deadline = time.monotonic() + PATIENCE_S
        while errors and time.monotonic() < deadline:
            time.sleep(1)
            last_good, errors = committed(broker, group_ids)
    yield from (
        f"  error {error} before the cut: {group_id}" for group_id, error in sorted(errors.items())
    )

    wanted = planned(plan)
    with loaded(lab, "fresh", {}) as (broker, _):
        fill(broker, wanted)
        commands = {step.name: step.commands for step in steps_of(plan)}
        run_plan_commands(broker, folder / "plan", commands[DRY_RUN])
        nothing, _ = committed(broker, group_ids)
        assert not nothing
        run_plan_commands(broker, folder / "plan", commands[EXECUTE])
        shown = described(run_plan_commands(broker, folder / "plan", commands[COMPARE]))
    left_out = {row[:3] for row, _ in plan.left_out}
    last_good = {at: value for at, value in last_good.items() if at not in left_out}
    wrong = sorted(
        at for at in last_good.keys() | shown.keys() if last_good.get(at) != shown.get(at)
    )
    yield from (f"  {at}: was {last_good.get(at)}, is {shown.get(at)}" for at in wrong)
    yield f"{len(last_good)} offsets of the last good state: {len(wrong)} are wrong after the plan"


def _not_loaded(
    lab: Lab, logs: Mapping[int, bytes], group_ids: Iterable[str]
) -> tuple[set[str], int]:
    """The groups that a broker serves all the same, and how many logs keep it from starting."""
    left = {number: Segment(data) for number, data in logs.items()}
    while True:
        try:
            with loaded(lab, f"failing-{len(left)}", left) as (broker, _):
                asked = list(group_ids)
                errors = committed(broker, asked)[1]
                return set(asked) - errors.keys(), len(logs) - len(left)
        except NotStartedError as problem:
            for number in problem.log_partitions:
                del left[number]


def main() -> int:
    """Returns the exit code: whether an offset was wrong."""
    release = sys.argv[1] if len(sys.argv) > 1 else "4.3"
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    last = ""
    with TemporaryDirectory() as scratch:
        for last in recovered(release, every, Path(scratch)):
            sys.stdout.write(f"{last}\n")
            sys.stdout.flush()
    return 0 if " 0 are wrong" in last else 1


if __name__ == "__main__":
    sys.exit(main())
