"""Figures for notebooks, tickets and slides, drawn by matplotlib from the gold tables."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rebalance_audit.errors import require_known
from rebalance_audit.extras import require_extra
from rebalance_audit.moment_text import MomentLike, moment_ms
from rebalance_audit.report.bars import Bar
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.summary import is_share
from rebalance_audit.tables.gold_rows import GoldRows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LANES_MAX: Final = 40
"""More lanes of members, partitions or groups than this are not told apart; those with the most in them are drawn."""
OWNERS: Final = ("#0072b2", "#00805d", "#a8437f", "#7d6300", "#5b4bb5", "#007888", "#5c5c5c")
"""Distinct also for colour-blind people, and read on white; owners after the seventh begin anew."""
STANDING_STILL: Final = "#c62828"
STAYING: Final = "#8a93a0"
GIVING_UP: Final = "#8a004c"
MEANINGS: Final = {
    STAYING: "in the group",
    GIVING_UP: "told to give up partitions",
    STANDING_STILL: "without owner",
}
HATCHED: Final = (STANDING_STILL,)
"""Told apart from green by more than the hue."""

THE_BEGINNING: Final = datetime.fromtimestamp(0, UTC)
"""Stands for moments that no row has."""

Row = Mapping[str, Any]


def plot_group(
    gold: GoldRows,
    group_id: str,
    *,
    start: MomentLike | None = None,
    end: MomentLike | None = None,
) -> "Figure":
    """Who was in a group and what each member owned, and which partitions stood still: a `matplotlib` figure.

    Above, a lane per member, one for all member ids of a static one: grey while it was in the group, dark while it
    was to give up partitions. Below, a lane per partition: coloured by owner as the member's name above is, and with
    that name where it fits; red and hatched while nobody owned it. Dotted lines are epochs. A legend says so. What a
    table gives as bounds only (times without owner of classic groups) is not drawn. `gold` is an audit or an open lake;
    times are UTC, by the coordinator's clock.

    Raises UnknownGroup, BadRequest for an unreadable time, and MissingExtra without the extra `notebook`.
    """
    require_extra("notebook")
    from rebalance_audit.report import drawing  # noqa: PLC0415 - imports matplotlib

    members = list(gold.members.where([group_id]))
    epochs = list(gold.epochs.where([group_id]))
    if not (members or epochs):
        require_known([group_id], {row["group_id"] for row in gold.epochs})
    names, owned = MemberNames(members), list(gold.ownership.where([group_id]))
    asked = list(gold.convergence.where([group_id]))
    span = _span((start, end), _moments(members, epochs, owned))
    lanes = _chosen(names.of(group_id, row["member_id"]) for row in _by_time(members))
    colours = dict(zip(lanes, cycle(OWNERS)))
    stays = [
        *_stays(members, names, *span),
        *_revocations(asked, names, _starts(epochs), span[1]),
    ]
    partitions = list(_partitions(owned, names, colours, span[1]))
    rows = sorted({bar.lane for bar in partitions}, key=_partition_order)
    kept = _chosen(bar.lane for bar in partitions)
    below = [lane for lane in rows if lane in kept]

    figure, (above, under) = drawing.picture([len(lanes), max(1, len(below))])
    for axes, bars, drawn in ((above, stays, lanes), (under, partitions, below)):
        drawing.draw_lanes(axes, bars, drawn, span, HATCHED)
        drawing.draw_moments(axes, _starts(epochs), span)
    for lane, label in zip(lanes, above.get_yticklabels(), strict=True):
        label.set_color(colours[lane])
    above.tick_params(labelbottom=False)
    left_out = len(rows) - len(below)
    title = f"{drawing.lane_name(group_id)}: members and the partitions that they owned"
    above.set_title(title, loc="left", parse_math=False)
    shared = any(map(is_share, epochs))
    whose = "the member that got them last; others may have them, too" if shared else "their owner"
    under.set_title(f"partitions, in the colour of {whose}", loc="left", fontsize="small")
    drawing.explain_colours(figure, MEANINGS, HATCHED)
    under.set_xlabel("UTC" + (f"; {left_out} more partitions are not drawn" if left_out else ""))
    return figure


def plot_lost_time(gold: GoldRows) -> "Figure":
    """How long each group was not stable: a `matplotlib` figure with a bar per group, the longest first.

    A bar has the best estimate; a line from the lower to the upper bound where the records give no more than bounds,
    with an arrow where nothing bounds the time. `gold` is an audit or an open lake.

    Raises MissingExtra without the extra `notebook`.
    """
    require_extra("notebook")
    from rebalance_audit.report import drawing  # noqa: PLC0415 - imports matplotlib

    lost: dict[str, _Lost] = defaultdict(lambda: _Lost(timedelta(), timedelta(), timedelta()))
    for row in gold.rebalances:
        lost[row["group_id"]] = lost[row["group_id"]].with_rebalance(row)
    ranked = sorted(lost, key=lambda group_id: lost[group_id].estimate, reverse=True)[:LANES_MAX]
    figure, (axes,) = drawing.picture([len(ranked)])
    for lane, group_id in enumerate(ranked):
        times = lost[group_id]
        estimate_s = times.estimate.total_seconds()
        axes.barh(lane, estimate_s, color=OWNERS[0], height=0.7)
        if times.most is None:
            axes.plot(estimate_s, lane, marker=">", color="#222222")
        elif times.most > times.least:
            bounds = (times.least.total_seconds(), times.most.total_seconds())
            axes.plot(bounds, (lane, lane), color="#222222", linewidth=1.2, marker="|")
    drawing.name_lanes(axes, ranked)
    axes.set_xlabel("seconds; a line is what the records bound, an arrow has no upper bound")
    axes.set_title("How long groups were not stable", loc="left")
    return figure


class _Lost(NamedTuple):
    """Time of a group's rebalances; `most` is None where nothing bounds one of them."""

    least: timedelta
    estimate: timedelta
    most: timedelta | None

    def with_rebalance(self, row: Row) -> "_Lost":
        """One more row of gold.rebalances."""
        least, estimate, most = (
            None if row[name] is None else timedelta(milliseconds=row[name])
            for name in ("duration_min_ms", "duration_estimate_ms", "duration_max_ms")
        )
        least = least or timedelta()
        return _Lost(
            self.least + least,
            self.estimate + (least if estimate is None else estimate),
            None if most is None or self.most is None else self.most + most,
        )


def _stays(
    members: Iterable[Row], names: MemberNames, begin: datetime, end: datetime
) -> Iterator[Bar]:
    for row in members:
        name = names.of(row["group_id"], row["member_id"])
        yield Bar(name, row["first_seen_at"] or begin, row["left_at"] or end, STAYING)


def _revocations(
    asked: Iterable[Row], names: MemberNames, starts: Sequence[datetime], end: datetime
) -> Iterator[Bar]:
    for row in asked:
        begin, revoked = row["revoke_started_at"], row["revoked_at"]
        if begin is None or row["started_at"] is None:
            continue
        if revoked is None:
            # It goes on in the row of the next epoch, or the member is gone with that.
            later = bisect_right(starts, row["started_at"])
            revoked = starts[later] if later < len(starts) else end
        yield Bar(names.of(row["group_id"], row["member_id"]), begin, revoked, GIVING_UP)


def _partitions(
    owned: Iterable[Row], names: MemberNames, colours: Mapping[str, str], end: datetime
) -> Iterator[Bar]:
    for row in owned:
        if row["from_at"] is None:
            continue
        lane = f"{row['topic'] or row['topic_id']} {row['topic_partition']}"
        if row["unowned_before_ms"]:
            since = row["from_at"] - timedelta(milliseconds=row["unowned_before_ms"])
            yield Bar(lane, since, row["from_at"], STANDING_STILL)
        owner = names.of(row["group_id"], row["member_id"])
        yield Bar(lane, row["from_at"], row["to_at"] or end, colours.get(owner, STAYING), owner)


def _starts(epochs: Iterable[Row]) -> list[datetime]:
    return sorted(row["started_at"] for row in epochs if row["started_at"] is not None)


def _moments(*tables: Iterable[Row]) -> list[datetime]:
    return [
        value
        for rows in tables
        for row in rows
        for value in row.values()
        if isinstance(value, datetime)
    ]


def _span(
    asked: tuple[MomentLike | None, MomentLike | None], moments: Sequence[datetime]
) -> tuple[datetime, datetime]:
    """The stretch of time to draw."""
    found = (min(moments, default=THE_BEGINNING), max(moments, default=THE_BEGINNING))
    wanted = [moment_ms(moment) for moment in asked]
    first, last = (
        there if moment is None else datetime.fromtimestamp(moment / 1000, UTC)
        for moment, there in zip(wanted, found, strict=True)
    )
    return first, max(last, first + timedelta(milliseconds=1))


def _by_time(members: Iterable[Row]) -> list[Row]:
    return sorted(members, key=lambda row: row["first_seen_at"] or THE_BEGINNING)


def _chosen(lanes: Iterable[str]) -> list[str]:
    """The lanes in their order; if there are too many, those with the most stretches of time."""
    counts: dict[str, int] = defaultdict(int)
    for lane in lanes:
        counts[lane] += 1
    most = set(sorted(counts, key=lambda lane: -counts[lane])[:LANES_MAX])
    return [lane for lane in counts if lane in most]


def _partition_order(lane: str) -> tuple[str, int]:
    topic, _, number = lane.rpartition(" ")
    return topic, int(number)
