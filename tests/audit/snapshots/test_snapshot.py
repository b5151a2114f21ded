"""An audit that is saved and resumed emits the rows of one that saw the whole log."""

import random
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest

from rebalance_audit.audit.commits.summary import NO_POSITION, summary_of
from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.members.stint import merge_stints
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import MEMBERS, Row
from rebalance_audit.audit.snapshots.snapshot import resumed, snapshot_of
from rebalance_audit.audit.thresholds import FindingRules
from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.sim.options import Overrides
from rebalance_audit.sim.scenario import simulate
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES
from rebalance_audit.wire.records import Record, encode_key
from tests.audit.logs import NAMES, Log, Records, read_capture, read_log

Emitted = list[tuple[str, Row]]


def committed_by(record: Record) -> int:
    """The offset that a commit record commits."""
    offset: int = getattr(record.value, "offset", NO_POSITION)
    return offset


def audit(
    group_id: str,
    records: Records,
    options: AuditOptions,
    cut: Callable[[int], bool],
    gaps: Collection[int] = (),
) -> Emitted:
    """Rows of the records; the audit is saved and resumed after every record whose number `cut` names."""
    rows: Emitted = []

    def emit(table: str, row: Row) -> None:
        rows.append((table, row))

    running = GroupAudit(group_id, records[0][1].log_partition, emit, options)
    for number, (record, position) in enumerate(records):
        if number in gaps:
            running.gap()
        if record.record_type in OFFSET_COMMIT_TYPES:
            running.committed({encode_key(record.key): summary_of(position, committed_by(record))})
        else:
            running.feed(record, position)
        if cut(number):
            put_away = orjson.dumps(snapshot_of(running))
            final = len(rows)
            running.finish()
            del rows[final:]
            running = resumed(orjson.loads(put_away), emit, options)
            assert orjson.dumps(snapshot_of(running)) == put_away
    running.finish()
    return rows


def in_order(rows: Iterable[tuple[str, Row]]) -> list[bytes]:
    """Rows of all tables in a form in which equal lists mean equal tables."""
    return sorted(orjson.dumps(row, option=orjson.OPT_SORT_KEYS) for row in rows)


def never(_number: int) -> bool:
    """No cut at all."""
    return False


def always(_number: int) -> bool:
    """A cut after every record."""
    return True


@pytest.mark.parametrize("capture", NAMES)
def test_a_cut_behind_every_record_changes_no_row(capture: str) -> None:
    """Real logs of both protocols, saved after every record, also in the middle of writes."""
    log = read_capture(capture)
    for group_id, records in log.groups.items():
        whole = audit(group_id, records, log.options, never)
        assert in_order(audit(group_id, records, log.options, always)) == in_order(whole)


def eager_rules(chance: random.Random) -> FindingRules:
    """Thresholds low enough for short simulations to have findings of most kinds."""
    values = {
        field.name: max(1, field.default // 100) if field.name.endswith("_ms") else 1
        for field in fields(FindingRules)
        if isinstance(field.default, int)
    }
    return FindingRules(**{name: value + chance.randrange(2) for name, value in values.items()})


@cache
def simulated(dialect: Dialect) -> Log:
    """Three groups over a minute."""
    with TemporaryDirectory() as folder:
        simulate(7, Overrides(minutes=1, groups=3, dialect=dialect)).write(Path(folder))
        return read_log(Path(folder))


@pytest.mark.parametrize("damage", ["none", "lost records", "undecodable records"])
@pytest.mark.parametrize("dialect", list(Dialect))
def test_cuts_in_simulated_logs_change_no_row(dialect: Dialect, damage: str) -> None:
    """Every release, with faults, compaction and findings, cut several times at random places."""
    log, chance = simulated(dialect), random.Random(dialect.name + damage)
    options = replace(log.options, findings=eager_rules(chance))
    tables = set()
    for group_id, all_records in log.groups.items():
        lossy = damage == "lost records"
        records = [each for each in all_records if not lossy or chance.random() > 0.05]
        undecodable = damage == "undecodable records"
        gaps = {at for at in range(len(records)) if undecodable and chance.random() < 0.02}
        whole = audit(group_id, records, options, never, gaps)
        cuts = {at for at in range(len(records)) if chance.random() < 0.15}
        parts = audit(group_id, records, options, cuts.__contains__, gaps)
        assert in_order(parts) == in_order(whole)
        tables |= {table for table, _ in whole}
    assert {"epochs", "findings", "members", "ownership"} <= tables


@pytest.mark.parametrize("capture", ["consumer-static", "classic-static", "oddities"])
def test_runs_one_after_the_other_come_to_one_row_per_member(capture: str) -> None:
    """A lake that merges each run's stints into its rows, also provisional ones, has the rows of a single run."""
    log = read_capture(capture)
    for group_id, records in log.groups.items():
        whole = [
            row for table, row in audit(group_id, records, log.options, never) if table == MEMBERS
        ]
        rows: list[Row] = []

        def emit(table: str, row: Row, into: list[Row] = rows) -> None:
            if table == MEMBERS:
                into.append(row)

        lake: list[Row] = []
        running = GroupAudit(group_id, 0, emit, log.options)
        for record, position in records:
            running.feed(record, position)
            state = snapshot_of(running)
            running.finish()
            lake = merge_stints([*lake, *rows])
            rows.clear()
            running = resumed(state, emit, log.options)
        expected = merge_stints(whole)
        assert in_order(("", row) for row in lake) == in_order(("", row) for row in expected)


@pytest.mark.parametrize("capture", ["consumer-protocol", "migration", "classic-cooperative"])
def test_rows_stay_while_the_log_grows_elsewhere_until_they_are_due(capture: str) -> None:
    """`due_ms` is the first log end with different rows: they differ there, and not a millisecond earlier."""
    log = read_capture(capture)
    dues = 0
    for group_id, records in log.groups.items():
        running = GroupAudit(group_id, 0, lambda _table, _row: None, log.options)
        for number, (record, position) in enumerate(records):
            running.feed(record, position)
            if number % 4:
                continue
            state = snapshot_of(running)

            def finished(end_ms: int, state: Any = state) -> tuple[list[bytes], int | None]:
                rows: Emitted = []
                continued = resumed(
                    state,
                    lambda table, row: rows.append((table, row)),
                    replace(log.options, log_end_ms=end_ms),
                )
                continued.finish()
                return in_order(rows), continued.due_ms

            before, due_ms = finished(position.record_timestamp_ms)
            if due_ms is None:
                due_ms = position.record_timestamp_ms + 10**12
                assert finished(due_ms) == (before, None)
                continue
            dues += 1
            assert finished(due_ms - 1) == (before, due_ms)
            assert finished(due_ms)[0] != before
    assert dues
