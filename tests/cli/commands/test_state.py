import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.cli.exit_codes import BAD_ARGUMENTS
from tests.cli.call import CAPTURES, call, segments

ALL = sorted(path.name for path in CAPTURES.iterdir())
NOT_IN_THE_LOG = {"PreparingRebalance", "CompletingRebalance"}


def state(*arguments: str | Path) -> dict[str, Any]:
    """The groups by id; the time under "at"."""
    outcome = call("state", *arguments)
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    return {"at": found["at"], **{group["group_id"]: group for group in found["groups"]}}


def by_topic(pairs: list[tuple[str, int]]) -> dict[str, list[int]]:
    """Topic -> partitions, ascending."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(pairs):
        topics.setdefault(topic, []).append(partition)
    return topics


@pytest.mark.parametrize("capture", ALL)
def test_state_at_the_end_is_what_kafkas_admin_client_saw(capture: str) -> None:
    """Types, states, epochs, members, assignments and committed offsets equal the brokers' own answer."""
    ours = state(segments(capture))
    described = json.loads((CAPTURES / capture / "describe.json").read_text())["groups"]
    compared = 0
    for theirs in described:
        if theirs.get("error") or "state" not in theirs:
            continue
        group = ours[theirs["group_id"]]
        if theirs["state"] not in NOT_IN_THE_LOG:
            assert group["state"] == theirs["state"]
        if theirs["type"] != "Unknown":  # brokers before 3.8 do not say
            assert group["type"] == theirs["type"]
        if theirs.get("group_epoch") is not None:
            assert group["epoch"] == theirs["group_epoch"]
            assert group["assignment_epoch"] == theirs["target_assignment_epoch"]
        members = {member["member_id"]: member for member in group["members"]}
        assert set(members) == {member["member_id"] for member in theirs["members"]}
        for member in theirs["members"]:
            mine = members[member["member_id"]]
            assert mine["instance_id"] == member.get("instance_id")
            assert mine["client_id"] == member.get("client_id")
            if theirs["type"] != "Streams":
                assert mine["assignment"] == by_topic(member["assignment"])
            if theirs["type"] == "Consumer":
                assert mine["target"] == by_topic(member["target_assignment"])
                assert mine["epoch"] == member["member_epoch"]
        for topic, partition, offset, *_ in theirs.get("offsets") or ():
            assert group["offsets"][topic][str(partition)]["offset"] == offset
        compared += 1
    assert compared


def test_a_moment_in_between_shows_the_epoch_of_then() -> None:
    """Right after the broker said that it bumped a group's epoch, the group is at that epoch."""
    rows = map(
        json.loads, (CAPTURES / "consumer-protocol" / "truth.jsonl").read_text().splitlines()
    )
    bumps = [row for row in rows if row["group"] == "beta" and row["epoch"] is not None]
    assert len(bumps) > 5
    for bump in bumps:
        later = [row["t_ms"] for row in bumps if row["epoch"] > bump["epoch"]]
        at_ms = min([bump["t_ms"] + 50, *(moment - 1 for moment in later)])
        found = state(segments("consumer-protocol"), "--group", "beta", "--at", str(at_ms))
        assert found["beta"]["epoch"] == bump["epoch"]


def test_at_takes_the_records_of_its_moment() -> None:
    """--at with the time of the last record is the end; one millisecond before the first there is nothing."""
    end = state(segments("classic-static"))
    assert state(segments("classic-static"), "--at", end["at"]) == end
    lines = call("decode", segments("classic-static")).out.splitlines()
    first_ms = min(json.loads(line)["timestamp"] for line in lines)
    assert list(state(segments("classic-static"), "--at", str(first_ms - 1))) == ["at"]


def test_moments_may_have_a_zone_or_none() -> None:
    """The same time in UTC, in another zone, without zone (UTC) and in epoch milliseconds."""
    answers = [
        state(segments("consumer-protocol"), "--at", moment)
        for moment in (
            "2026-11-21T09:25:00Z",
            "2026-11-21T10:25:00+01:00",
            "2026-11-21 09:25",
            "1795253100000",
        )
    ]
    assert answers[0]["at"] == "2026-11-21T09:25:00.000Z"
    assert all(answer == answers[0] for answer in answers)


def test_group_leaves_only_that_group() -> None:
    """--group gives the same group as the full answer, and may be repeated."""
    everything = state(segments("consumer-protocol"))
    two = state(segments("consumer-protocol"), "--group", "beta", "--group", "alpha")
    assert list(two) == ["at", "alpha", "beta"]
    assert two["beta"] == everything["beta"]


def test_a_group_that_is_gone_does_not_exist() -> None:
    """An error says so of a deleted group, also beside others; its first life can be asked for."""
    for others in ((), ("--group", "alpha")):
        outcome = call("state", segments("consumer-protocol"), "--group", "brief", *others)
        assert (outcome.code, outcome.out) == (BAD_ARGUMENTS, "")
        assert "group 'brief' does not exist at the end of the log" in outcome.err
    before = ("--group", "brief", "--at", "2026-11-21T00:00Z")
    at_night = call("state", segments("consumer-protocol"), *before)
    assert "group 'brief' does not exist at 2026-11-21 00:00:00+00:00" in at_night.err
    lines = call("decode", segments("consumer-protocol"), "--group", "brief").out.splitlines()
    first_ms = min(json.loads(line)["timestamp"] for line in lines)
    alive = state(segments("consumer-protocol"), "--group", "brief", "--at", str(first_ms))
    assert alive["brief"]["state"] != "Dead"


def test_undecodable_records_are_counted_on_stderr(tmp_path: Path) -> None:
    """The state from a damaged log is printed, with a note about what is missing from it."""
    shutil.copytree(segments("broker-3.3"), tmp_path, dirs_exist_ok=True)
    victim = next(tmp_path.glob("__consumer_offsets-*/*.log"))
    data = bytearray(victim.read_bytes())
    data[70] ^= 0xFF
    victim.chmod(0o644)
    victim.write_bytes(data)
    outcome = call("state", tmp_path)
    assert outcome.code == 0
    assert "Left out: 1 record that could not be decoded" in outcome.err
    assert json.loads(outcome.out)["groups"]
