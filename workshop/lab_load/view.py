"""What clients see of the groups of each partition, once a broker has loaded it or failed to."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaError

from workshop.lab.connection import Connection
from workshop.lab.layouts import api

Row = dict[str, Any]

VERSIONS: Final = {"OffsetFetch": 9, "ApiVersions": 0}
"""Version 10 of OffsetFetch answers with the ids of topics, and these topics are not there."""
SHOWN_MAX: Final = 120
_AT_ONCE: Final = 40

_DESCRIBE: Final[Mapping[str, str]] = {
    "classic": "DescribeGroups",
    "consumer": "ConsumerGroupDescribe",
    "share": "ShareGroupDescribe",
    "streams": "StreamsGroupDescribe",
}
_EPOCHS: Final = ("group_epoch", "assignment_epoch")


def shown(name: str) -> str:
    """A name as the truth has it: long ones by their beginning and length."""
    return name if len(name) <= SHOWN_MAX else f"{name[:20]}…({len(name)})"


def ask_about(connection: Connection, jars: Path, group_ids: Iterable[str]) -> dict[str, Row]:
    """Group id -> what the broker lists, describes and fetches; `error` where it refuses to answer."""
    served = {each["api_key"] for each in connection.ask("ApiVersions")["api_keys"]}
    listed = {
        each["group_id"]: each
        for each in connection.ask("ListGroups", states_filter=[], types_filter=[])["groups"]
    }
    rows = {
        group["group_id"]: _of_offsets(group) for group in offset_answers(connection, group_ids)
    }
    for group_id, row in rows.items():
        entry = listed.get(group_id)
        row["type"] = (entry.get("group_type") or None) if entry else None
        row["state"] = entry["group_state"] if entry else None
        if entry is None:
            continue
        kind = (row["type"] or "classic").lower()
        request = _DESCRIBE[kind]
        if api(jars, request).key in served:
            row.update(_described(connection, request, group_id))
        else:
            row["describe_error"] = "no such request"
    return rows


def offset_answers(connection: Connection, group_ids: Iterable[str]) -> Iterator[Row]:
    """OffsetFetch for all topics: the answer for each group, whether or not transactions are pending."""
    asked = list(group_ids)
    for begin in range(0, len(asked), _AT_ONCE):
        groups = [
            {"group_id": each, "topics": None, "member_id": None, "member_epoch": -1}
            for each in asked[begin : begin + _AT_ONCE]
        ]
        yield from connection.ask("OffsetFetch", groups=groups, require_stable=0)["groups"]


def _of_offsets(group: Row) -> Row:
    row: Row = {}
    if group["error_code"]:
        row["error"] = KafkaError(group["error_code"]).name()
    offsets = {
        shown(f"{topic['name']}:{each['partition_index']}"): each["committed_offset"]
        for topic in group["topics"]
        for each in topic["partitions"]
    }
    if offsets:
        row["offsets"] = dict(sorted(offsets.items()))
    return row


def _described(connection: Connection, name: str, group_id: str) -> Row:
    field = "groups" if name == "DescribeGroups" else "group_ids"
    (group,) = connection.ask(name, **{field: [group_id]})["groups"]
    row: Row = {}
    if group["error_code"]:
        row["describe_error"] = KafkaError(group["error_code"]).name()
        return row
    for epoch in _EPOCHS:
        if epoch in group:
            row[epoch] = group[epoch]
    members = sorted(shown(each["member_id"]) for each in group["members"])
    if members:
        row["members"] = members
    return row
