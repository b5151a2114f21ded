"""The audit is the same whether one process replays all groups or several replay some of them each."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from rebalance_audit.local import byte_ranges, shares, single_pass_log
from rebalance_audit.local.audit import Audit, audit_segments
from rebalance_audit.local.audit_feeder import GroupRange, group_ranges
from rebalance_audit.local.shares import forked
from tests.cli.audited import audited_once
from tests.cli.call import call
from tests.wire.golden import CAPTURE_NAMES, capture
from tests.wire.segments.hand_made import Rec, batch, segment

WITHOUT_GROUP = b"\0\3\0\x09ab"


@pytest.fixture
def shared_out(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From then on logs of any size are replayed by three processes."""

    def share_out() -> None:
        monkeypatch.setattr(shares, "FORK_FROM_RECORDS", 0)
        monkeypatch.setattr(shares, "cores", lambda: 3)
        monkeypatch.setattr(shares, "can_fork", lambda: True)

    return share_out


def assert_same(one: Audit, other: Audit) -> None:
    """Rows, counts, notes and groups, all of them in the same order."""
    assert other.tables == one.tables
    assert other.facts == one.facts
    assert list(other.facts.anomalies) == list(one.facts.anomalies)
    assert list(other.facts.undecodable) == list(one.facts.undecodable)
    assert other.group_ids == one.group_ids


@pytest.mark.parametrize("name", CAPTURE_NAMES)
@pytest.mark.parametrize("kept_bytes_max", [20_000, 1 << 30])
def test_real_logs(
    name: str,
    kept_bytes_max: int,
    shared_out: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where most of the log is read again in each process."""
    path = capture(name).segments
    one, printed = audited_once(path), printed_once(path)
    monkeypatch.setattr(single_pass_log, "KEPT_BYTES_MAX", kept_bytes_max)
    shared_out()
    assert_same(one, audit_segments(path))
    assert call("inspect", path, "--json").out == printed


@cache
def printed_once(path: Path) -> str:
    """What a log of this size prints, replayed by one process."""
    return call("inspect", path, "--json").out


def test_processes_that_read_again_start_no_others(
    shared_out: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log too large to keep, on a machine that has not compiled the walk yet."""
    path = capture("failover").segments
    one = audit_segments(path)
    monkeypatch.setattr(single_pass_log, "KEPT_BYTES_MAX", 1)
    monkeypatch.setattr(byte_ranges, "PARALLEL_FROM_BYTES", 0)
    monkeypatch.setattr(byte_ranges, "cores", lambda: 2)
    shared_out()
    assert_same(one, audit_segments(path))


def group_record(offset: int, group: str, value: bytes | None) -> Rec:
    """The metadata of a consumer group."""
    key = b"\0\3" + len(group).to_bytes(2) + group.encode()
    return offset, 1_700_000_000_000 + 1000 * offset, key, value


def test_what_cannot_be_read(tmp_path: Path, shared_out: Callable[[], None]) -> None:
    """A record without a group and a damaged batch are counted once, and make every group's epochs uncertain."""
    groups = ["b", "", "a", "c"]
    good = [group_record(at, group, b"\0\0\0\0\0\1") for at, group in enumerate(groups)]
    odd = [
        group_record(4, "c", b"\0\x63"),
        (5, 1_700_000_005_000, WITHOUT_GROUP, b"\0\0\0\0\0\1"),
        group_record(6, "a", b"\0\0\0"),
        group_record(7, "b", b"\0\x63"),
        (8, 1_700_000_008_000, None, None),
    ]
    broken = batch([group_record(9, "a", b"\0\0\0\0\0\2")])
    after = [group_record(10 + at, group, b"\0\0\0\0\0\3") for at, group in enumerate(groups)]
    path = tmp_path / "__consumer_offsets-0"
    parts = [batch(good), batch(odd), broken[:-1] + b"\xff", batch(after)]
    path.mkdir()
    segment(path, parts)
    one = audit_segments(path)
    assert len(one.facts.undecodable) > 1
    shared_out()
    assert_same(one, audit_segments(path))


@pytest.mark.parametrize(
    "options",
    [
        ("--limit", "2"),
        ("--table", "findings", "--table", "gold.topics"),
        ("--table", "nothing"),
        ("--from", "2026-11-21T09:08:40Z"),
        ("--group", "loader", "--brief"),
    ],
)
def test_narrowed(options: tuple[str, ...], shared_out: Callable[[], None]) -> None:
    """What is asked for of the object comes from all parts."""
    log = capture("failover").segments
    one = call("inspect", log, "--json", *options)
    shared_out()
    assert call("inspect", log, "--json", *options) == one


def test_every_group_is_in_one_range() -> None:
    """As heavy as each other as far as single groups allow it; also unknown groups."""
    weights = {"d": 10, "a": 10, "c": 10, "b": 10}
    assert group_ranges(weights, 2) == [GroupRange("", "c"), GroupRange("c", None)]
    assert group_ranges({"a": 100, "b": 1}, 2) == [GroupRange("", "b"), GroupRange("b", None)]
    assert group_ranges({}, 2) == [GroupRange("", None)]
    for count in range(1, 6):
        ranges = group_ranges(weights, count)
        for group_id in ("", "a", "bb", "d", "\U0001f600"):
            assert sum(each.has(group_id) for each in ranges) == 1


def test_copies_of_a_process() -> None:
    """Answers come in order, errors as they were raised, and an end without an answer is an error."""
    assert forked(lambda number: number * 10, [1, 2, 3]) == [10, 20, 30]
    with pytest.raises(ZeroDivisionError):
        forked(lambda number: 1 // number, [1, 0])
    with pytest.raises(ChildProcessError, match="exit code 7"):
        forked(lambda code: os._exit(code) if code else None, [0, 7])
