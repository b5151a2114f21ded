"""Groups that no script can be made for, each with a sentence that says why."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from rebalance_audit import limits
from rebalance_audit.audit.rows import GAP, Row
from rebalance_audit.whatif.group_rows import GroupRows, epoch_began_ms
from rebalance_audit.whatif.script import Script, TopicExpansion

MISSING_MAX: Final = 0.1
"""Share of a group's epochs that may be missing from the log."""
EPOCHS_AFTER_GAP: Final = 5
"""So many complete epochs must follow the place up to which a log was compacted."""

_BY_PROTOCOL: Final = {
    "share": "It is a share group: members share partitions, so none is ever taken from one and given to another.",
    "streams": "It is a streams group: tasks have state to restore, which the simulator does not model.",
}
_BY_PROTOCOL_TYPE: Final = {
    "connect": "Its members are Kafka Connect workers, which assign connectors and tasks by their own protocol.",
    "sr": "Its members are schema registries, which elect a leader and assign no partitions.",
}

_DAY_MS: Final = 86_400_000


def refusal_of(rows: GroupRows, from_ms: int | None, to_ms: int | None) -> str | None:
    """Why the group cannot be asked; None if it can."""
    epochs = [
        row
        for row in rows.epochs
        if (from_ms is None or epoch_began_ms(row) >= from_ms)
        and (to_ms is None or epoch_began_ms(row) < to_ms)
    ]
    if not rows.epochs and not rows.members:
        return "It has no members in this log: its application assigns partitions itself, and nothing rebalances."
    if not rows.epochs:
        return "The log holds none of its epochs, so nothing that happened to it can be simulated."
    kinds = {rows.protocol, *(row["protocol"] for row in rows.epochs)}
    for protocol, sentence in _BY_PROTOCOL.items():
        if protocol in kinds:
            return sentence
    types = {row["protocol_type"] for row in rows.epochs if row["protocol_type"]}
    for protocol_type in sorted(types - {"consumer"}):
        other = f"Its members are no consumers: their protocol type is {protocol_type}."
        return _BY_PROTOCOL_TYPE.get(protocol_type, other)
    if any(row["assignor"] == "stream" for row in rows.epochs):
        return "Its members are Kafka Streams applications, whose tasks have state to restore."
    usable = [row for row in epochs if row["completeness"] != GAP]
    missing = _missing(usable)
    if (len(usable) < len(epochs) and len(usable) < EPOCHS_AFTER_GAP) or (
        missing > MISSING_MAX * (missing + len(usable))
    ):
        last = max(row["epoch"] for row in epochs)
        return (
            f"The log was compacted: it holds {len(usable):,} of the epochs up to {last:,} with what"
            " happened in them, which is too few."
        )
    return None


def too_large(script: Script) -> str | None:
    """Why a script would take too long to simulate, or too much memory; None if it would not."""
    grown: dict[str, int] = dict(script.topics)
    for event in script.events:
        if isinstance(event, TopicExpansion):
            grown[event.topic] = max(grown.get(event.topic, 0), event.partitions)
    processes = sum(len(each.lives) for each in script.instances) + len(script.events)
    for limit, found in (
        (limits.WHAT_IF_PARTITIONS, sum(grown.values())),
        (limits.WHAT_IF_INSTANCES, len(script.instances)),
        (limits.WHAT_IF_PROCESSES, processes),
        (limits.WHAT_IF_DAYS, -(-(script.to_ms - script.from_ms) // _DAY_MS)),
    ):
        if found > limit.most:
            return f"It has {found:,} {limit.unit}; what-if simulates at most {limit.most:,}."
    return None


def _missing(epochs: Sequence[Row]) -> int:
    """How many epochs the log lacks between those that it has."""
    by_incarnation: dict[int, list[int]] = {}
    for row in epochs:
        by_incarnation.setdefault(row["incarnation"], []).append(row["epoch"])
    missing = 0
    for numbers in by_incarnation.values():
        numbers.sort()
        for before, after in pairwise(numbers):
            # One generation or epoch may pass unrecorded; a longer gap is one of the log.
            missing += after - before - 1 if after - before > 2 else 0
    return missing
