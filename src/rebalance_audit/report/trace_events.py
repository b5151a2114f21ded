"""One group as tracks of events for a trace viewer: its states, rebalances, epochs, members and partitions.

The stretches are those of `report.timeline`, which the page draws as well. Times are epoch milliseconds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.bounds import bounds_columns
from rebalance_audit.figures.rows import (
    RowKey,
    TableRow,
    Tables,
    began_ms,
    duration_of,
    epoch_key,
    epoch_noun,
    is_classic,
    picked,
)
from rebalance_audit.report.causes import label
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.row_sentences import detail_of
from rebalance_audit.report.timeline import (
    Partition,
    UncertainStretch,
    doubts,
    gaps,
    held_stretches,
    owned,
    partition_of,
    revocations,
    states,
)
from rebalance_audit.report.verdict import holder_names
from rebalance_audit.visible import shortened, visible

TABLES: Final = (
    "convergence",
    "epochs",
    "group_states",
    "members",
    "ownership",
    "rebalance_causes",
    "rebalances",
)
"""Gold tables that the tracks are made of."""

NO_OWNER: Final = "no owner"
_NOT_CERTAIN: Final = " (not certain)"

Facts: TypeAlias = Mapping[str, str | int | None]


class TraceEvent(NamedTuple):
    """A stretch of time on a track, or a moment."""

    from_ms: int
    to_ms: int | None
    """None for a moment."""
    name: str
    category: str
    facts: Facts
    starts_flows: tuple[int, ...] = ()
    """Ids of the arrows that begin here."""
    ends_flows: tuple[int, ...] = ()


class Track(NamedTuple):
    """A row of the viewer, with the rows below it."""

    name: str
    events: Sequence[TraceEvent] = ()
    children: Sequence["Track"] = ()


def group_track(group_id: str, own: Tables, end_ms: int, flow_ids: Iterator[int]) -> Track:
    """The group's track with all that belong to it.

    `own`: the group's rows of TABLES, in order of their keys; `end_ms`: the end of the log; `flow_ids`: unused ids for
    arrows, which lead from a cause to its epoch, and from there to the new owner of each partition that changed hands.
    """
    names = MemberNames(own["members"])
    found = doubts(own["rebalances"], end_ms)
    causes = _causes(own["rebalance_causes"], flow_ids)
    moves = {
        _ownership_key(row): next(flow_ids)
        for row in own["ownership"]
        if row["previous_member_id"] not in (None, row["member_id"]) and row["from_at"] is not None
    }
    group_causes = [cause.event for cause in causes if cause.row["member_id"] is None]
    return Track(
        _shown(group_id),
        children=[
            Track(
                "State",
                [
                    TraceEvent(
                        stretch.from_ms,
                        stretch.to_ms,
                        stretch.state + ("" if stretch.is_certain else _NOT_CERTAIN),
                        "state",
                        {"open": int(stretch.is_open)},
                    )
                    for stretch in states(own["group_states"], found, end_ms)
                ],
            ),
            Track("Rebalances", list(_rebalances(own["rebalances"], names, end_ms))),
            Track("Epochs", list(_epochs(own, causes, moves))),
            *([Track("Causes without a member", group_causes)] if group_causes else ()),
            Track("Members", children=_members(group_id, own, names, causes, end_ms)),
            Track(
                "Partitions",
                children=[
                    Track(_shown(f"{topic}-{number}"), events)
                    for (topic, number), events in _partitions(
                        own, names, moves, found, end_ms
                    ).items()
                ],
            ),
        ],
    )


class _Cause(NamedTuple):
    row: TableRow
    flow_id: int
    event: TraceEvent


def _causes(rows: Iterable[TableRow], flow_ids: Iterator[int]) -> list[_Cause]:
    found = []
    for row in rows:
        if row["at"] is None:
            continue
        flow_id = next(flow_ids)
        facts = {
            **picked(row, "certainty", "role", "epoch", "cause_seq"),
            "detail": visible(str(detail_of(row))),
        }
        name = label(row["cause"])
        event = TraceEvent(row["at"], None, name, "cause", facts, starts_flows=(flow_id,))
        found.append(_Cause(row, flow_id, event))
    return found


def _rebalances(rows: Iterable[TableRow], names: MemberNames, end_ms: int) -> Iterator[TraceEvent]:
    for row in rows:
        took = duration_of(row)
        until_ms = end_ms if row["ended_at"] is None else row["ended_at"]
        from_ms = began_ms(row)
        if from_ms is None:
            continue
        cause = row["primary_cause"]
        yield TraceEvent(
            from_ms,
            max(from_ms, until_ms),
            "cause not known" if cause is None else label(cause),
            "rebalance",
            {
                **picked(row, "rebalance_seq", "incarnation", "first_epoch", "last_epoch"),
                "certainty": row["primary_certainty"],
                "outcome": row["outcome"],
                **bounds_columns(took, "duration"),
                "held_up_by": ", ".join(map(_shown, holder_names(row, names))) or None,
            },
        )


def _epochs(
    own: Tables, causes: Iterable[_Cause], moves: Mapping[tuple[object, ...], int]
) -> Iterator[TraceEvent]:
    """A moment for each: of the record that shows it, which for a generation is the one at its end."""
    of_epoch: dict[RowKey, list[_Cause]] = {}
    for cause in causes:
        of_epoch.setdefault(epoch_key(cause.row), []).append(cause)
    given: dict[tuple[int, int | None], list[int]] = {}
    for row in own["ownership"]:
        if (flow_id := moves.get(_ownership_key(row))) is not None:
            given.setdefault((row["incarnation"], row["from_epoch"]), []).append(flow_id)
    for row in own["epochs"]:
        its_causes = of_epoch.get(epoch_key(row), ())
        moments = [row["started_at"]]
        if is_classic(row):
            moments += [row["converged_at"], *(cause.event.from_ms for cause in its_causes)]
        at_ms = max((moment for moment in moments if moment is not None), default=None)
        if at_ms is None:
            continue
        yield TraceEvent(
            at_ms,
            None,
            f"{epoch_noun((row,))} {row['epoch']}",
            "epoch",
            picked(
                row,
                *("incarnation", "epoch", "outcome", "members", "partitions_moved", "first_offset"),
            ),
            starts_flows=tuple(given.get((row["incarnation"], row["epoch"]), ())),
            # What happened after an epoch began did not bring it about.
            ends_flows=tuple(cause.flow_id for cause in its_causes if cause.event.from_ms <= at_ms),
        )


def _members(
    group_id: str, own: Tables, names: MemberNames, causes: Iterable[_Cause], end_ms: int
) -> list[Track]:
    """A track per member; the member ids of a static member share one."""
    who = {row["member_id"]: row["instance_id"] or row["member_id"] for row in own["members"]}
    shown: dict[str, str] = {}
    events: dict[str, list[TraceEvent]] = {}

    def add(member_id: str, event: TraceEvent) -> None:
        key = who.get(member_id, member_id)
        shown[key] = _shown(names.of(group_id, member_id))
        events.setdefault(key, []).append(event)

    for row in own["members"]:
        if row["first_seen_at"] is not None:
            until_ms = end_ms if row["left_at"] is None else row["left_at"]
            facts = {
                "member_id": visible(row["member_id"]),
                **{name: row[name] and visible(row[name]) for name in ("client_id", "client_host")},
                **picked(row, "left_how", "left_certainty"),
            }
            from_ms = row["first_seen_at"]
            stay = TraceEvent(from_ms, max(from_ms, until_ms), "in the group", "member", facts)
            add(row["member_id"], stay)
    for cause in causes:
        if cause.row["member_id"] is not None:
            add(cause.row["member_id"], cause.event)
    for from_ms, to_ms, row in revocations(own, end_ms):
        facts = picked(row, "epoch", "partitions_revoked")
        add(row["member_id"], TraceEvent(from_ms, to_ms, "revoking", "revocation", facts))
    for from_ms, to_ms, holder, row in held_stretches(own["rebalances"], end_ms):
        facts = {"why": holder.why, "rebalance_seq": row["rebalance_seq"]}
        event = TraceEvent(from_ms, to_ms, "holds up the rebalance", "held_up", facts)
        add(str(holder.member_id), event)
    return [Track(shown[key], found) for key, found in events.items()]


def _partitions(
    own: Tables,
    names: MemberNames,
    moves: Mapping[tuple[object, ...], int],
    found: Sequence[UncertainStretch],
    end_ms: int,
) -> dict[Partition, list[TraceEvent]]:
    events: dict[Partition, list[TraceEvent]] = {}
    drawn: set[tuple[object, ...]] = set()
    for piece in owned(own["ownership"], found, end_ms):
        row, key = piece.row, _ownership_key(piece.row)
        facts = {
            "member_id": visible(row["member_id"]),
            **picked(row, "from_offset", "from_epoch", "how_ended"),
        }
        flows = (moves[key],) if key in moves and key not in drawn else ()
        drawn.add(key)
        owner = _shown(names.of(row["group_id"], row["member_id"]))
        name = owner + ("" if piece.is_certain else _NOT_CERTAIN)
        event = TraceEvent(piece.from_ms, piece.to_ms, name, "owner", facts, ends_flows=flows)
        events.setdefault(partition_of(row), []).append(event)
    for gap in gaps(own["ownership"], own["rebalances"], end_ms):
        event = TraceEvent(gap.from_ms, gap.to_ms, NO_OWNER, "no_owner", {})
        events.setdefault(partition_of(gap.row), []).append(event)
    return events


def _ownership_key(row: TableRow) -> tuple[object, ...]:
    return (*partition_of(row), row["incarnation"], row["from_offset"])


def _shown(name: str) -> str:
    return shortened(visible(name))
