"""Histories as long as one likes: what happens to a group again and again, with clients that come once and go."""

from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import TypeAlias

from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupMemberMetadataValue,
    GroupMetadataValue,
)
from rebalance_audit.wire.records import Record
from tests.dsl import record_of

Write: TypeAlias = tuple[int, list[str]]
"""Time in milliseconds and the records of one write in the shorthand of `story`."""

LIFE = 40
"""Rounds after which everybody is gone, and in another round the group is deleted."""
ROUND_MS = 20_000


def consumer_history(lives: int | None = None) -> Iterator[Write]:
    """A joins and stays; a new client comes, waits for its share and goes; a static one leaves for a while.

    Topics grow, an expression is resolved, a bump gets no target; then everybody goes, and the group is deleted.
    """
    for life in islice(count(), lives):
        begin_ms, epoch = 1_000 + life * (LIFE + 2) * ROUND_MS, 2
        yield begin_ms, ["5 A", "3 2", "7 A 0-5", "6 2", "8 A 2/0 0-5"]
        for number in range(LIFE):
            at_ms, new = begin_ms + (number + 1) * ROUND_MS, f"B{life}-{number}"
            static = f"{new} instance=i{life}-{number}" if number % 3 == 0 else new
            epoch += 1
            joins = [f"5 {static}", f"3 {epoch} h{epoch}", "7 A 0-2", f"7 {new} 3-5", f"6 {epoch}"]
            yield at_ms, [*joins, f"8 {new} {epoch}/0 UNRELEASED -"]
            yield at_ms + 300, [f"8 A {epoch - 1}/{epoch - 1} UNREVOKED 0-2|3-5"]
            yield at_ms + 500, [f"8 A {epoch}/{epoch - 1} 0-2"]
            yield at_ms + 900, [f"8 {new} {epoch}/{epoch} 3-5"]
            if number % 3 == 0:
                heir = f"C{life}-{number}"
                yield at_ms + 2_000, [f"8 {new} -2/{epoch} 3-5"]
                yield (
                    at_ms + 3_000,
                    [
                        *(f"8t {new}", f"7t {new}", f"5t {new}"),
                        *(f"5 {heir} instance=i{life}-{number}", f"7 {heir} 3-5"),
                        *(f"8 {heir} 0/0 3-5", f"8 {heir} {epoch}/0 3-5"),
                    ],
                )
                new = heir
            yield at_ms + 4_000, [f"16 ^f{life}-{number} foo"]
            epoch += 1
            yield at_ms + 5_000, [f"8t {new}", f"7t {new}", f"5t {new}", f"3 {epoch}"]
            yield at_ms + 5_100, [f"16t ^f{life}-{number}"]
            if number % 5:
                yield at_ms + 5_400, ["7 A 0-5", f"6 {epoch}", f"8 A {epoch}/{epoch - 1} 0-5"]
        end_ms = begin_ms + (LIFE + 1) * ROUND_MS
        yield end_ms, ["8t A", "7t A", "5t A", f"3 {epoch + 1}"]
        yield end_ms + 1_000, ["6t", "3t"]


def restless_history(lives: int | None = None) -> Iterator[Write]:
    """A group that never comes to rest: before a new client has its share the next one comes, and another goes."""
    yield 1_000, ["5 A", "3 2", "7 A 0-5", "6 2", "8 A 2/0 0-5"]
    epoch, holder = 2, "A"
    for number in islice(count(), None if lives is None else lives * LIFE):
        at_ms, new, other = (number + 1) * ROUND_MS, f"B{number}", f"C{number}"
        epoch += 4
        joins = [f"5 {new}", f"3 {epoch - 3}", f"7 {holder} -", f"7 {new} 0-5", f"6 {epoch - 3}"]
        yield at_ms, [*joins, f"8 {new} {epoch - 3}/0 UNRELEASED -"]
        yield at_ms + 100, [f"8 {holder} {epoch - 4}/{epoch - 4} UNREVOKED -|0-5"]
        joins = [f"5 {other}", f"3 {epoch - 2}", f"7 {new} 0-2", f"7 {other} 3-5", f"6 {epoch - 2}"]
        yield at_ms + 4_000, [*joins, f"8 {other} {epoch - 2}/0 UNRELEASED -"]
        yield at_ms + 5_000, [f"8t {holder}", f"7t {holder}", f"5t {holder}", f"3 {epoch - 1}"]
        yield at_ms + 5_500, [f"8 {new} {epoch - 2}/{epoch - 3} 0-2"]
        yield at_ms + 6_000, [f"8t {other}", f"7t {other}", f"5t {other}", f"3 {epoch}"]
        holder = new


def classic_history(lives: int | None = None) -> Iterator[Write]:
    """A stays; a new client comes and goes, a static one comes back under a new id, topics change, A is restarted.

    A generation is skipped now and then; then everybody goes, and the group is deleted.
    """
    for life in islice(count(), lives):
        begin_ms, generation = 1_000 + life * (LIFE + 2) * ROUND_MS, 1
        yield begin_ms, ["2 0"]
        yield begin_ms + 3_000, ["2 1 range A=0-5"]
        for number in range(LIFE):
            at_ms, new = begin_ms + (number + 1) * ROUND_MS, f"B{life}-{number}"
            generation += 2 if number % 7 == 0 else 1
            if number % 3 == 0:
                instance = f"i{life}-{number}"
                yield at_ms, [f"2 {generation} range A=0-2 {new}@{instance}=3-5"]
                heir = f"C{life}-{number}"
                yield at_ms + 2_000, [f"2 {generation} range A=0-2 {heir}@{instance}=3-5"]
                new = f"{heir}@{instance}"
            else:
                yield at_ms, [f"2 {generation} range A=0-2 {new}=3-5"]
            generation += 1
            topics = "foo" if number % 2 else "foo,bar"
            yield at_ms + 5_000, [f"2 {generation} range A=0-5 topics={topics}"]
            generation += 1
            yield at_ms + 9_000, [f"2 {generation} range A=0-5 topics={topics}"]
        end_ms = begin_ms + (LIFE + 1) * ROUND_MS
        yield end_ms, [f"2 {generation + 1}"]
        yield end_ms + 1_000, ["2t"]


def numbered(writes: Iterable[Write]) -> Iterator[tuple[Record, Position]]:
    """Records with their places; the clients of every write have a name and a host of their own."""
    log_offset = 0
    for number, (at_ms, lines) in enumerate(writes):
        for line in lines:
            record = _of_its_own(record_of(line, at_ms), number)
            yield record, Position(0, log_offset, at_ms, 0)
            log_offset += 1
        log_offset += 1


def _of_its_own(record: Record, number: int) -> Record:
    value, client_id, client_host = record.value, f"c{number}", f"/10.0.0.{number}"
    if isinstance(value, ConsumerGroupMemberMetadataValue):
        named = value._replace(client_id=client_id, client_host=client_host)
        return record._replace(value=named)
    if isinstance(value, GroupMetadataValue):
        members = tuple(
            member._replace(client_id=client_id, client_host=client_host)
            for member in value.members
        )
        return record._replace(value=value._replace(members=members))
    return record
