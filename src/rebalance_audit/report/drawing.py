"""Bars in lanes over time, drawn by matplotlib."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import Final, TypeAlias

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure

from rebalance_audit.report.bars import Bar
from rebalance_audit.report.words import visible

LANE_INCHES: Final = 0.24
WIDTH_INCHES: Final = 11.0
DOTS_PER_INCH: Final = 96
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


def draw_lanes(axes: Axes, bars: Iterable[Bar], lanes: Sequence[str], span: Span) -> None:
    """The bars of these lanes, cut to the stretch of time; times are UTC."""
    place = {lane: number for number, lane in enumerate(lanes)}
    stretches: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for bar in bars:
        begin, end = max(bar.begin, span[0]), min(bar.end, span[1])
        if bar.lane in place and begin <= end:
            begin_day = date2num(begin)
            stretches[bar.lane, bar.colour].append((begin_day, date2num(end) - begin_day))
    for (lane, colour), found in stretches.items():
        axes.broken_barh(found, (place[lane] - 0.35, 0.7), facecolors=colour)
    name_lanes(axes, lanes)
    axes.set_xlim(date2num(span[0]), date2num(span[1]))
    locator = AutoDateLocator(tz=UTC)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))


def draw_moments(axes: Axes, moments: Iterable[datetime], span: Span) -> None:
    """Dotted lines across all lanes."""
    for moment in moments:
        if span[0] <= moment <= span[1]:
            axes.axvline(date2num(moment), color="#6b7480", linewidth=0.6, linestyle=":", zorder=0)


def name_lanes(axes: Axes, lanes: Sequence[str]) -> None:
    """The first lane is the uppermost."""
    # Names are names: by default a dollar sign begins a formula.
    labels = [shortened(lane) for lane in lanes]
    axes.set_yticks(range(len(lanes)), labels, fontsize="small", parse_math=False)
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.spines[["top", "right"]].set_visible(False)


def shortened(name: str) -> str:
    """A name out of the log with its control characters escaped, cut in its middle if it is long."""
    shown = visible(name)
    half = NAME_MAX // 2
    return shown if len(shown) <= NAME_MAX else f"{shown[:half]}…{shown[-half + 1 :]}"
