"""Figures for notebooks, tickets and slides, drawn by matplotlib from the gold tables."""

from collections import defaultdict
from typing import TYPE_CHECKING

from rebalance_audit.bounds import NOTHING, Bounds, total_of
from rebalance_audit.extras import require_extra
from rebalance_audit.figures.rows import is_share, lasted
from rebalance_audit.moment_text import MomentLike, moment_ms
from rebalance_audit.report.colours import COSTS
from rebalance_audit.report.group_picture import (
    CAUSES,
    LANES_MAX,
    REBALANCES,
    STATE,
    group_picture,
)
from rebalance_audit.sentences import words
from rebalance_audit.tables.row_shapes import plain
from rebalance_audit.tables.rows import GoldRows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_group(
    gold: GoldRows,
    group_id: str,
    *,
    start: MomentLike | None = None,
    end: MomentLike | None = None,
) -> "Figure":
    """A group over time as a `matplotlib` figure: verdict, states, rebalances with causes, members, partitions.

    Above stands what `explain` answers. The group's lanes have its states, its rebalances in the colour of what cost
    the time, and a triangle per epoch in the colour of its cause. Members have a lane each, one for all member ids of a
    static one: grey while it was in the group, with marks while it had to give up partitions and while the group waited
    for it. Partitions are coloured by owner as the members' names are, red and crossed without owner. What the records
    of a classic group leave open is hatched. Dotted lines are epochs. `gold` is an audit or an open lake; times are
    UTC, by the coordinator's clock.

    Raises UnknownGroup, BadRequest for an unreadable time, LakeNotReadable for a lake of several clusters if none
    was chosen, and MissingExtra without the extra `notebook`.
    """
    require_extra("notebook")
    from rebalance_audit.report import drawing  # noqa: PLC0415 - imports matplotlib

    own = gold.rows_of_group(group_id)
    window = (moment_ms(start), moment_ms(end))
    drawn = group_picture(own, group_id, window, gold.log_end_ms())
    group_lanes = [STATE, REBALANCES, CAUSES]
    panels = [
        (drawn.group, group_lanes),
        (drawn.members, drawn.member_lanes),
        (drawn.partitions, drawn.partition_lanes),
    ]
    figure, axes = drawing.picture([max(1, len(lanes)) for _, lanes in panels])
    epochs = [mark.at_ms for mark in drawn.causes]
    for each, (bars, lanes) in zip(axes, panels, strict=True):
        drawing.draw_lanes(each, bars, lanes, drawn.span)
        drawing.draw_moments(each, epochs, drawn.span)
    above, middle, under = axes
    drawing.draw_marks(above, drawn.causes, group_lanes, drawn.span)
    for lane, label in zip(drawn.member_lanes, middle.get_yticklabels(), strict=True):
        label.set_color(drawn.owner_colours[lane])
    drawing.write_above(figure, drawing.lane_name(group_id), drawn.verdict)
    shared = any(map(is_share, own["epochs"]))
    whose = "the member that got them last; others may have them, too" if shared else "their owner"
    titles = ("the group", "members", f"partitions, in the colour of {whose}")
    for each, title in zip(axes, titles, strict=True):
        each.set_title(title, loc="left", fontsize="small")
    drawing.explain_colours(figure, drawn.meanings)
    for each in axes[:-1]:
        each.tick_params(labelbottom=False)
    more = words.counted(drawn.left_out, "more partition")
    under.set_xlabel("UTC" + (f"; {more} not drawn" if drawn.left_out else ""))
    return figure


def plot_lost_time(gold: GoldRows) -> "Figure":
    """How long each group was not stable: a `matplotlib` figure with a bar per group, the longest first.

    A bar has the best estimate; a line from the lower to the upper bound where the records give no more than bounds,
    with an arrow where the time has no upper bound. `gold` is an audit or an open lake.

    Raises MissingExtra without the extra `notebook`.
    """
    require_extra("notebook")
    from rebalance_audit.report import drawing  # noqa: PLC0415 - imports matplotlib

    parts: dict[str, list[Bounds]] = defaultdict(list)
    for row in map(plain, gold.rebalances):
        parts[row["group_id"]].append(lasted(row) or NOTHING)
    lost = {group_id: total_of(each) for group_id, each in parts.items()}
    ranked = sorted(lost, key=lambda group_id: lost[group_id].likely, reverse=True)[:LANES_MAX]
    figure, (axes,) = drawing.picture([len(ranked)])
    for lane, group_id in enumerate(ranked):
        times = lost[group_id]
        estimate_s = times.likely / 1000
        axes.barh(lane, estimate_s, color=COSTS[None].shades.light, height=0.7)
        if times.most is None:
            axes.plot(estimate_s, lane, marker=">", color="#222222")
        elif times.most > times.least:
            bounds = (times.least / 1000, times.most / 1000)
            axes.plot(bounds, (lane, lane), color="#222222", linewidth=1.2, marker="|")
    drawing.name_lanes(axes, ranked)
    axes.set_xlabel("seconds; a line is what the records bound, an arrow has no upper bound")
    axes.set_title("How long groups were not stable", loc="left")
    return figure
