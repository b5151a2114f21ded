"""Whether the clocks of the brokers' logs and of the records agree, and how to correct the lines if they do not.

A log read in the wrong time zone, or a broker with a wrong clock, is off by a constant. The epochs that both the log
and the records name show by how much. A log that fits nowhere is from another cluster or another time, and is left out.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.testimony.witness import TOLERANCE_MS
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.generated.messages import ConsumerGroupMetadataValue, GroupMetadataValue
from rebalance_audit.wire.records import Record, group_id_of

ZONE_STEP_MS: Final = 900_000
"""Time zones differ by multiples of a quarter of an hour (ms)."""

SHIFT_MS_MAX: Final = 26 * 3_600_000
"""Largest difference between two time zones (ms)."""

WITNESSES_MIN: Final = 3
"""Number of epochs that must agree on a shift before it is believed."""

SAMPLE: Final = 1_000
"""Number of epochs looked at per broker."""

DATED: Final = frozenset(
    {
        FactKind.EPOCH_BUMPED,
        FactKind.GENERATION_STABILIZED,
        FactKind.GROUP_EMPTIED,
        FactKind.ASSIGNMENT_RECEIVED,
    }
)


def moments_of(record: Record, at_ms: int) -> Iterator[tuple[FactKind, int, int]]:
    """What a record of any type written at `at_ms` says about an epoch: (kind of line to expect, epoch, epoch ms)."""
    value = record.value
    if isinstance(value, ConsumerGroupMetadataValue):
        yield FactKind.EPOCH_BUMPED, value.epoch, at_ms
    elif isinstance(value, GroupMetadataValue):
        yield FactKind.ASSIGNMENT_RECEIVED, value.generation, at_ms
        ended_ms = value.current_state_timestamp
        if ended_ms >= 0:
            kind = FactKind.GENERATION_STABILIZED if value.members else FactKind.GROUP_EMPTIED
            yield kind, value.generation, ended_ms


@dataclass(slots=True)
class Moments:
    """When epochs began according to the records, for groups that the brokers' logs name."""

    groups: Collection[str]
    limit: int = 100_000
    """Maximum number of moments: enough to find the shift of any log."""
    _found: defaultdict[tuple[str, FactKind, int], list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By group, kind of line and epoch."""

    def note(self, record: Record, position: Position) -> None:
        """Look at one record of any type."""
        group_id = group_id_of(record.key)
        if group_id not in self.groups or len(self._found) >= self.limit:
            return
        for kind, epoch, at_ms in moments_of(record, position.record_timestamp_ms):
            self._found[group_id, kind, epoch].append(at_ms)

    def shifts_of(self, fact: BrokerFact) -> list[int]:
        """How much later (ms) the line is than each epoch that it may be about."""
        if fact.kind not in DATED or fact.epoch is None or fact.group_id is None:
            return []
        found = self._found.get((fact.group_id, fact.kind, fact.epoch), ())
        return [fact.at_ms - at_ms for at_ms in found]


class Aligned(NamedTuple):
    """The broker log, by the clock of the records."""

    log: BrokerLog
    notes: list[str]
    """One sentence for each broker whose clock or log was wrong."""


class Clocks(NamedTuple):
    """What was found out about the clocks of brokers."""

    shift_of: dict[str, int | None]
    """Broker -> by how many ms its lines are late; None if its log is unusable. Brokers not listed need no shift."""
    notes: list[str]
    """One sentence for each broker whose clock or log was wrong."""


def clocks(found: Mapping[str, Sequence[Sequence[int]]]) -> Clocks:
    """Find the shifts. `found`: broker -> for each line about a known epoch, the possible delays from `shifts_of`."""
    shift_of: dict[str, int | None] = {}
    notes: list[str] = []
    for broker, candidates in sorted(found.items()):
        shift_ms, support = _common_shift(candidates)
        shift_of[broker] = shift_ms
        share = f"{support} of {len(candidates)} epochs that the records have as well"
        if shift_ms is None:
            notes.append(
                f"The log of broker {broker} was not used: no constant shift of its clock fits the records "
                f"(at best {share}). Is it of this cluster?"
            )
        elif shift_ms:
            notes.append(
                f"The log of broker {broker} is {_spelled(shift_ms)} the records, by {share}; its times were shifted."
            )
    return Clocks(shift_of, notes)


def aligned(log: BrokerLog, moments: Moments) -> Aligned:
    """The log with each broker's lines shifted to the records' clock; brokers that fit nowhere are left out."""
    by_broker: defaultdict[str, list[list[int]]] = defaultdict(list)
    for fact in log.all():
        shifts = moments.shifts_of(fact)
        if shifts:
            by_broker[fact.broker].append(shifts)
    found = clocks(
        {broker: lines[:: -(-len(lines) // SAMPLE)] for broker, lines in by_broker.items()}
    )
    if not any(shift != 0 for shift in found.shift_of.values()):
        return Aligned(log, found.notes)
    shifted = (
        fact._replace(at_ms=fact.at_ms - shift_ms)
        for fact in log.facts()
        if (shift_ms := found.shift_of.get(fact.broker, 0)) is not None
    )
    return Aligned(replace(BrokerLog.of(shifted, log.zone), files=log.files), found.notes)


def _common_shift(candidates: Sequence[Sequence[int]]) -> tuple[int | None, int]:
    """(Shift on which most lines agree, how many agree); the shift is 0 for a right clock, None if too few agree."""
    pairs = sorted((shift, line) for line, shifts in enumerate(candidates) for shift in shifts)
    shifts = [shift for shift, _ in pairs]
    straight = _lines_within(pairs, shifts, -TOLERANCE_MS)
    if 2 * len(straight) >= len(candidates):
        return 0, len(straight)
    best: set[int] = set()
    start = 0
    for begin, shift in enumerate(shifts):
        if abs(shift) > SHIFT_MS_MAX:
            continue
        lines = _lines_within(pairs, shifts, shift)
        if len(lines) > len(best):
            best, start = lines, begin
    if len(best) < WITNESSES_MIN or 2 * len(best) < len(candidates):
        # A few lines that fit nowhere do not disqualify the log: only their times decide about them.
        return (None if len(candidates) >= WITNESSES_MIN else 0), max(len(best), len(straight))
    inside = [shift for shift in shifts[start:] if shift <= shifts[start] + 2 * TOLERANCE_MS]
    middle = round(median(inside))
    zone = round(middle / ZONE_STEP_MS) * ZONE_STEP_MS
    return (zone if abs(middle - zone) <= TOLERANCE_MS else middle), len(best)


def _lines_within(pairs: list[tuple[int, int]], shifts: list[int], begin_ms: int) -> set[int]:
    """The lines with a shift from `begin_ms` to twice the tolerance after it."""
    first = bisect_left(shifts, begin_ms)
    found: set[int] = set()
    for shift, line in pairs[first:]:
        if shift > begin_ms + 2 * TOLERANCE_MS:
            break
        found.add(line)
    return found


def _spelled(shift_ms: int) -> str:
    minutes = abs(shift_ms) / 60_000
    size = f"{minutes / 60:g} h" if minutes >= 60 and minutes % 15 == 0 else f"{minutes:.1f} min"
    return f"{size} {'ahead of' if shift_ms > 0 else 'behind'}"
