"""Brokers' logs with resumed audits: every run gets the log anew, and it is not part of a snapshot."""

from collections import Counter, defaultdict

import orjson
import pytest

from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.snapshots.snapshot import resumed, snapshot_of
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.records import Record, group_id_of
from tests.audit.broker_log.test_captures import broker_log, records_of_capture

Piece = list[tuple[Record, Position]]


def groups_of(capture: str) -> dict[str, Piece]:
    """The group records of a capture by group."""
    found: defaultdict[str, Piece] = defaultdict(list)
    for record, position in records_of_capture(capture):
        if record.record_type > 1:
            found[group_id_of(record.key)].append((record, position))
    return found


def rows_in_pieces(pieces: list[Piece], options: AuditOptions) -> Counter[bytes]:
    """Every row that is emitted when the audit is saved after each piece and resumed for the next."""
    rows: Counter[bytes] = Counter()

    def emit(table: str, row: Row) -> None:
        rows[orjson.dumps([table, row], option=orjson.OPT_SORT_KEYS)] += 1

    record, position = next(each for piece in pieces for each in piece)
    audit = GroupAudit(group_id_of(record.key), position.log_partition, emit, options)
    for number, piece in enumerate(pieces):
        if number:
            state = orjson.loads(orjson.dumps(snapshot_of(audit)))
            audit = resumed(state, emit, options)
        for record, position in piece:
            audit.feed(record, position)
    audit.finish()
    return rows


@pytest.mark.parametrize("capture", ["classic-cooperative", "consumer-static", "failover"])
def test_pieces_equal_the_whole(capture: str) -> None:
    """Cut in two anywhere, with the same log given to both runs, the rows are those of one run."""
    log = broker_log(capture)
    options = AuditOptions(broker_facts=log.facts_of)
    cuts = 0
    for records in groups_of(capture).values():
        whole = rows_in_pieces([records], options)
        for cut in range(1, len(records), max(1, len(records) // 12)):
            cuts += 1
            assert rows_in_pieces([records[:cut], records[cut:]], options) == whole
    assert cuts > 10
