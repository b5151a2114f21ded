"""Snapshots of audits: what a snapshot holds besides the state, and when it can no longer be used.

A snapshot is human-readable: one entry per part of the audit, with its differences from a new audit.
"""

import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

import orjson

from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Emit
from rebalance_audit.audit.snapshots.codec import PartCodec, Plain, shapes_of
from rebalance_audit.audit.thresholds import DepartureRules, FindingRules

STATE_FORMAT: Final = 50
"""Raise this number when a snapshot's content changes, or when the audit makes different rows from it."""

_SURROUNDINGS: Final = (
    "format",
    "shapes",
    "thresholds",
    "group_id",
    "log_partition",
    "last_offset",
    "checksum",
)
_DIGITS: Final = 12


class SnapshotNotUsable(ValueError):  # noqa: N818 - it says what is the matter
    """The audit cannot continue from this snapshot; the group has to be audited from its first record."""


class _Beginning(NamedTuple):
    codec: PartCodec
    plain: Mapping[str, Plain]


def snapshot_of(audit: GroupAudit) -> dict[str, object]:
    """The snapshot of an audit, as JSON values. Take it before `finish`, which consumes the state."""
    state: dict[str, object] = {
        "format": STATE_FORMAT,
        "shapes": shapes(),
        "thresholds": _thresholds(audit.options),
        "group_id": audit.group_id,
        "log_partition": audit.log_partition,
        "last_offset": audit.last_offset,
        **_changed(audit),
    }
    return {**state, "checksum": checksum_of(state)}


def _changed(audit: GroupAudit) -> dict[str, dict[str, Plain]]:
    """The state of each part, as far as it differs from that of a new audit."""
    beginnings, changed = _beginnings(_rules_of(audit.options)), {}
    for name, part in audit.parts().items():
        codec, beginning = beginnings[name]
        plain = codec.plain(part).items()
        changed[name] = {key: value for key, value in plain if value != beginning[key]}
    return {name: plain for name, plain in changed.items() if plain}


def resumed(
    state: Mapping[str, Plain], emit: Emit, options: AuditOptions | None = None
) -> GroupAudit:
    """The audit as it was when the snapshot `state` was taken.

    Raises SnapshotNotUsable if the snapshot is damaged or made by another program version, or if thresholds or names
    have changed since: then the group has to be audited from its first record.
    """
    options = options or AuditOptions()
    group_id, log_partition = _require_usable(state, options)
    audit = GroupAudit(group_id, log_partition, emit, options)
    beginnings, parts = _beginnings(_rules_of(options)), audit.parts()
    try:
        for name in state.keys() - _SURROUNDINGS:
            beginnings[name].codec.restore(parts[name], state[name])
    except (LookupError, TypeError, ValueError, AttributeError) as problem:
        raise SnapshotNotUsable(
            f"the snapshot of group {group_id!r} does not hold what it should: {problem!r}"
        ) from problem
    audit.resumed()
    news = audit.outside.changes()
    if news is not None:
        raise SnapshotNotUsable(f"the snapshot of group {group_id!r} is out of date: {news}")
    return audit


def twin_of(audit: GroupAudit, emit: Emit, log_end_ms: int | None) -> GroupAudit:
    """Another audit with the same state, for a log that ends at `log_end_ms` (epoch ms); the two share nothing."""
    twin = GroupAudit(
        audit.group_id, audit.log_partition, emit, replace(audit.options, log_end_ms=log_end_ms)
    )
    beginnings, parts = _beginnings(_rules_of(audit.options)), twin.parts()
    for name, plain in orjson.loads(orjson.dumps(_changed(audit))).items():
        beginnings[name].codec.restore(parts[name], plain)
    twin.resumed()
    return twin


@cache
def shapes() -> str:
    """A fingerprint of everything that a snapshot can hold; it reveals a change without a raised STATE_FORMAT."""
    return _digest("\n".join(shape_lines()))


@cache
def shape_lines() -> tuple[str, ...]:
    """The shapes as text: one line for each class, then a new audit's state."""
    beginnings = _beginnings(_rules_of(AuditOptions()))
    classes = shapes_of(type(part) for part in _new_audit(AuditOptions()).parts().values())
    at_first = (f"{name} = {beginning.plain}" for name, beginning in beginnings.items())
    return (*classes, *at_first)


def _require_usable(state: Mapping[str, object], options: AuditOptions) -> tuple[str, int]:
    """(Group id, log partition) of a complete snapshot of this program. Raises SnapshotNotUsable for any other."""
    if state.get("format") != STATE_FORMAT:
        raise SnapshotNotUsable(
            f"a snapshot of format {state.get('format')!r}, this program reads {STATE_FORMAT}"
        )
    group_id, log_partition = state.get("group_id"), state.get("log_partition")
    if (
        not isinstance(group_id, str)
        or not isinstance(log_partition, int)
        or state.get("checksum") != checksum_of(state)
    ):
        raise SnapshotNotUsable(f"the snapshot of group {group_id!r} is damaged")
    if state.get("shapes") != shapes():
        raise SnapshotNotUsable(f"the snapshot of group {group_id!r} is of another program")
    if state.get("thresholds") != _thresholds(options):
        raise SnapshotNotUsable(
            f"the snapshot of group {group_id!r} was made with other thresholds"
        )
    return group_id, log_partition


_Rules: TypeAlias = tuple[DepartureRules, FindingRules, bool]


def _rules_of(options: AuditOptions) -> _Rules:
    """What rows depend on besides the log and the names."""
    return options.rules, options.findings, options.with_findings


def _thresholds(options: AuditOptions) -> str:
    return _digest(repr(_rules_of(options)))


@lru_cache(8)
def _beginnings(rules: _Rules) -> Mapping[str, _Beginning]:
    departures, findings, with_findings = rules
    options = AuditOptions(rules=departures, findings=findings, with_findings=with_findings)
    return {
        name: _Beginning(codec, codec.plain(part))
        for name, part in _new_audit(options).parts().items()
        for codec in (PartCodec(type(part)),)
    }


def _new_audit(options: AuditOptions) -> GroupAudit:
    return GroupAudit("", 0, lambda _table, _row: None, options)


@lru_cache(8)
def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGITS]


def checksum_of(state: Mapping[str, object]) -> int:
    """The checksum of everything in a snapshot except the checksum itself."""
    body = {name: plain for name, plain in state.items() if name != "checksum"}
    return zlib.crc32(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
