"""The last state of real logs against what the brokers' own admin client said of them."""

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from rebalance_audit.replay.changes import Anomaly, AnomalyKind
from rebalance_audit.replay.describe import describe_group
from rebalance_audit.replay.shard import Shard
from rebalance_audit.replay.step import Policy
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import open_log_folder
from rebalance_audit.wire.topic_names import TopicNames
from tests.support.log_entries import Entry, PositionedRecord, apply_entry, entries_of
from tests.wire.golden import CAPTURE_NAMES, capture


def replay(log: Iterable[Entry], policy: Policy) -> tuple[dict[int, Shard], list[Anomaly]]:
    """The shards of all partitions after the log, and what was odd in it."""
    shards: dict[int, Shard] = {}
    odd: list[Anomaly] = []
    for entry in log:
        shard = shards.setdefault(entry.log_partition, Shard(entry.log_partition, policy))
        odd += (change for change in apply_entry(shard, entry) if isinstance(change, Anomaly))
    return shards, odd


def described(shards: dict[int, Shard], names: TopicNames) -> dict[str, dict[str, Any]]:
    """All groups by id."""
    rows = [describe_group(slot, names) for shard in shards.values() for slot in shard.groups()]
    return {row["group_id"]: row for row in rows if row is not None}


def as_topics(pairs: list[list[Any]]) -> dict[str, list[int]]:
    """Topic -> partitions, of (topic, partition) pairs."""
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(pairs):
        topics.setdefault(topic, []).append(number)
    return topics


def said_by_kafka(group: dict[str, Any]) -> dict[str, Any]:
    """A group of describe.json in the shape of ours, with what Kafka said and no more."""
    said = {
        "type": group["type"],
        "state": group["state"],
        "assignor": group.get("assignor"),
        "epoch": group.get("group_epoch"),
        "assignment_epoch": group.get("target_assignment_epoch"),
        "members": [_member(member, group) for member in sorted_members(group["members"])],
    }
    if "offsets" in group:
        said["offsets"] = {
            (topic, number): (offset, None if leader_epoch == -1 else leader_epoch, metadata)
            for topic, number, offset, leader_epoch, metadata in group["offsets"]
        }
    # An old broker does not name the type, and only the consumer protocol has epochs and assignors to name.
    unknown = {"type": "Unknown", "assignor": None, "epoch": None, "assignment_epoch": None}
    return {key: value for key, value in said.items() if (key, value) not in unknown.items()}


def sorted_members(members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By member id, as ours are."""
    return sorted(members, key=lambda member: str(member["member_id"]))


def _member(member: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
    said = {
        "member_id": member["member_id"],
        "instance_id": member.get("instance_id"),
        "client_id": member["client_id"],
        "client_host": member["host"],
        "epoch": member.get("member_epoch"),
    }
    if group["type"] == "Streams":  # the admin client prints tasks as a text of its own
        return said
    said["assignment"] = as_topics(member["assignment"])
    if member.get("target_assignment") is not None:
        said["target"] = as_topics(member["target_assignment"])
    return said


def restricted(ours: Any, said: Any) -> Any:
    """Our description with the parts that Kafka spoke of."""
    kept = {key: ours[key] for key in said}
    kept["members"] = [
        {key: member[key] for key in said_member}
        for member, said_member in zip(ours["members"], said["members"], strict=True)
    ]
    if "offsets" in said:
        kept["offsets"] = {
            (topic, int(number)): (at["offset"], at["leader_epoch"], at["metadata"])
            for topic, numbers in ours["offsets"].items()
            for number, at in numbers.items()
        }
    return kept


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_the_last_state_is_the_one_that_kafka_describes(name: str) -> None:
    """Groups, states, epochs, members, current and target assignments and offsets: all of it, every release."""
    said_groups = [
        group
        for group in json.loads((capture(name).path / "describe.json").read_text())["groups"]
        if "state" in group  # 3.7 could not describe its own early-access group
    ]
    shards, _ = replay(entries_of(capture(name).segments), Policy.LENIENT)
    ours = described(shards, read_topic_names(open_log_folder(capture(name).segments)))
    assert said_groups
    for group in said_groups:
        said = said_by_kafka(group)
        assert restricted(ours[group["group_id"]], said) == said, group["group_id"]
    missed = {"modern"} if name == "broker-3.7" else set()
    assert ours.keys() - {group["group_id"] for group in said_groups} == missed


@pytest.mark.parametrize("name", [name for name in CAPTURE_NAMES if name != "compacted"])
def test_a_whole_log_of_a_broker_has_nothing_out_of_place(name: str) -> None:
    """What the strict policy refuses no broker from 3.3 to 4.4 writes: upgrades, fail-overs and expiries included."""
    assert replay(entries_of(capture(name).segments), Policy.STRICT)[1] == []


def stream_of_compacted() -> Iterator[PositionedRecord]:
    """Every record of the compacted capture as it was written."""
    for row in capture("compacted").stream():
        key, value = (
            None if row[field] is None else base64.b64decode(row[field])
            for field in ("key", "value")
        )
        yield PositionedRecord(
            row["partition"], row["offset"], row["timestamp"], None, -1, -1, False, key, value
        )


def test_a_compacted_log_leads_to_the_state_of_the_whole() -> None:
    """The real log cleaner left 389 of some thousand records; groups, owners and offsets come out the same."""
    whole, nothing_odd = replay(stream_of_compacted(), Policy.STRICT)
    compacted, odd = replay(entries_of(capture("compacted").segments), Policy.LENIENT)
    assert nothing_odd == []
    assert {anomaly.kind for anomaly in odd} <= {AnomalyKind.TOMBSTONE_OF_UNKNOWN}
    names = TopicNames()
    assert described(compacted, names) == described(whole, names)
    for partition, shard in compacted.items():
        for slot in shard.groups():
            before = whole[partition].slot(slot.group_id)
            assert before is not None
            assert (slot.group, slot.offsets) == (before.group, before.offsets)
