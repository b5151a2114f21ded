"""What `watch` has reported is neither lost nor reported again by the next one."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.cli.watch_cursor import WatchCursor
from rebalance_audit.errors import BadRequest
from rebalance_audit.local.live.live_audit import GroupUpdate
from tests.cli.call import PROGRAM, segments


def news(*ended: tuple[int, str], times: int = 0) -> list[GroupUpdate]:
    """Rebalances of one group by their last epoch, which ended in that second, and their cause."""
    rows = [
        ({"ended_at": epoch * 1000, "last_epoch": epoch, "primary_cause": cause}, times)
        for epoch, cause in ended
    ]
    return [GroupUpdate("g", {}, rows, [], None)]


def epochs(found: list[GroupUpdate]) -> list[tuple[int, int]]:
    """Last epoch, and how many times it was reported before."""
    return [(row["last_epoch"], times) for group in found for row, times in group.ended]


def test_the_next_one_goes_on_after_the_last(tmp_path: Path) -> None:
    """What is new is reported, and what turned out otherwise meanwhile, once more."""
    file = tmp_path / "state" / "reported"
    WatchCursor(file, "segments:log", 7).keep(news((1, "joined"), (2, "left")))
    same = WatchCursor(file, "segments:log", 99)
    assert same.since_ms == 7
    assert epochs(same.unreported(news((1, "joined"), (2, "left"), (3, "joined")))) == [(3, 0)]
    assert epochs(same.unreported(news((2, "expired")))) == [(2, 1)]
    assert epochs(same.unreported(news((1, "expired"), times=1))) == [(1, 1)]


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"format": 9}'])
def test_another_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """It may be one that somebody needs."""
    file = tmp_path / "notes"
    file.write_bytes(content)
    with pytest.raises(BadRequest, match="is not a file that this watch wrote"):
        WatchCursor(file, "segments:log", 0)
    assert file.read_bytes() == content


def test_a_file_of_another_source(tmp_path: Path) -> None:
    """Its groups may have the same names."""
    file = tmp_path / "reported"
    WatchCursor(file, "segments:log", 0).keep(news((1, "joined")))
    with pytest.raises(BadRequest, match="of another source, segments:log;"):
        WatchCursor(file, "kafka:broker:9092", 0)


def test_a_watch_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    """Killed between two lines; the next one reports the rest, and the one after it nothing."""
    state = ("--state", str(tmp_path / "reported"))
    whole = watched(signal.SIGINT)
    killed = watched(signal.SIGKILL, *state)
    resumed = watched(signal.SIGINT, *state)
    assert {*killed, *resumed} == {*whole}
    assert len(whole) == len({*whole}) > 3
    held = json.loads((tmp_path / "reported").read_bytes())
    assert sum(group in held["last"] for group, _, _ in whole) == len(whole)


def watched(end: signal.Signals, *options: str) -> list[tuple[Any, ...]]:
    """The rebalances that are reported when it is ended after the first line."""
    source = f"segments:{segments('broker-4.0')}"
    command = [*PROGRAM, "watch", source, "--json", "--since", "2020-01-01", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        lines = [watching.stdout.readline()]
        watching.send_signal(end)
        lines += watching.stdout
    events = [json.loads(line) for line in lines if line.endswith("\n")]
    rows = [line["rebalance"] for line in events if line["event"] == "rebalance"]
    return [(row["group_id"], row["incarnation"], row["first_epoch"]) for row in rows]
