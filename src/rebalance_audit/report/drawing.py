"""Bars in lanes over time, drawn by matplotlib."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import Final, TypeAlias

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from rebalance_audit.report.bars import Bar
from rebalance_audit.visible import shortened, visible

LANE_INCHES: Final = 0.24
WIDTH_INCHES: Final = 11.0
DOTS_PER_INCH: Final = 96
HATCH: Final = "////"
NAMED_SHARE: Final = 0.05
"""Of the whole time: a shorter bar has no room for a name."""
DARK: Final = 0.18
"""Luminance below which white is read better than black."""
NAME_MAX: Final = 48
"""Characters of a name: longer ones would leave no room for the lanes."""

Span: TypeAlias = tuple[datetime, datetime]


class Picture(Figure):
    """A figure that notebooks show by itself, without pyplot and what that keeps."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=DOTS_PER_INCH)
        return buffer.getvalue()


def picture(lanes: Sequence[int]) -> tuple[Picture, Sequence[Axes]]:
    """A figure of axes one below the other, each high enough for so many lanes."""
    heights = [1 + LANE_INCHES * count for count in lanes]
    figure = Picture(figsize=(WIDTH_INCHES, sum(heights)), layout="constrained")
    axes = figure.subplots(len(lanes), 1, height_ratios=heights, squeeze=False)
    return figure, [row[0] for row in axes]


def draw_lanes(
    axes: Axes,
    bars: Iterable[Bar],
    lanes: Sequence[str],
    span: Span,
    hatched: Collection[str] = (),
) -> None:
    """The bars of these lanes, cut to the stretch of time; times are UTC. `hatched`: colours with lines across."""
    place = {lane: number for number, lane in enumerate(lanes)}
    stretches: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for bar in bars:
        begin, end = max(bar.begin, span[0]), min(bar.end, span[1])
        if bar.lane in place and begin <= end:
            begin_day = date2num(begin)
            stretches[bar.lane, bar.colour].append((begin_day, date2num(end) - begin_day))
        if bar.lane in place and bar.name and end - begin >= (span[1] - span[0]) * NAMED_SHARE:
            _name_bar(axes, bar, begin + (end - begin) / 2, place[bar.lane])
    for (lane, colour), found in stretches.items():
        drawn = axes.broken_barh(found, (place[lane] - 0.35, 0.7), facecolors=colour)
        if colour in hatched:
            drawn.set(hatch=HATCH, edgecolor="white", linewidth=0)
    name_lanes(axes, lanes)
    axes.set_xlim(date2num(span[0]), date2num(span[1]))
    locator = AutoDateLocator(tz=UTC)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))


def _name_bar(axes: Axes, bar: Bar, middle: datetime, lane: int) -> None:
    red, green, blue = (value**2.2 for value in to_rgb(bar.colour))
    ink = "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > DARK else "white"
    axes.text(
        date2num(middle),
        lane,
        lane_name(bar.name),
        color=ink,
        fontsize="x-small",
        ha="center",
        va="center",
        clip_on=True,
        parse_math=False,
    )


def explain_colours(figure: Figure, meanings: Mapping[str, str], hatched: Collection[str]) -> None:
    """A legend below the pictures: colour -> what it stands for; and what dotted lines are."""
    patches = {colour: Patch(facecolor=colour, label=text) for colour, text in meanings.items()}
    for colour in hatched:
        patches[colour].set(hatch=HATCH, edgecolor="white", linewidth=0)
    epoch = Line2D([], [], color="#6b7480", linewidth=0.9, linestyle=":", label="an epoch began")
    figure.legend(
        handles=[*patches.values(), epoch],
        loc="outside lower center",
        ncols=len(patches) + 1,
        frameon=False,
        fontsize="small",
    )


def draw_moments(axes: Axes, moments: Iterable[datetime], span: Span) -> None:
    """Dotted lines across all lanes."""
    for moment in moments:
        if span[0] <= moment <= span[1]:
            axes.axvline(date2num(moment), color="#6b7480", linewidth=0.6, linestyle=":", zorder=0)


def name_lanes(axes: Axes, lanes: Sequence[str]) -> None:
    """The first lane is the uppermost."""
    # Names are names: by default a dollar sign begins a formula.
    labels = [lane_name(lane) for lane in lanes]
    axes.set_yticks(range(len(lanes)), labels, fontsize="small", parse_math=False)
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.spines[["top", "right"]].set_visible(False)


def lane_name(name: str) -> str:
    """A name out of the log with its control characters escaped, cut in its middle if it is long."""
    return shortened(visible(name), NAME_MAX)
