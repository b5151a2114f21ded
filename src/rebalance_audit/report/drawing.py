"""Bars in lanes over time, drawn by matplotlib."""

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC
from io import BytesIO
from typing import Final, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from rebalance_audit.report.group_picture import Bar, Mark, Meaning
from rebalance_audit.visible import shortened, visible

LANE_INCHES: Final = 0.24
WIDTH_INCHES: Final = 11.0
DOTS_PER_INCH: Final = 96
NAMED_SHARE: Final = 0.05
"""Of the whole time: a shorter bar has no room for a name."""
DARK: Final = 0.18
"""Luminance below which white is read better than black."""
NAME_MAX: Final = 48
"""Characters of a name: longer ones would leave no room for the lanes."""

TEXT_CHARACTERS: Final = 150
"""In a line of the text above a picture."""
TEXT_LINES: Final = 8
LINES_MAX: Final = 200
"""Dotted lines."""
LEGEND_COLUMNS: Final = 3
HATCH_COLOUR: Final = (1.0, 1.0, 1.0, 0.55)
"""White through which a name can be read."""

Span: TypeAlias = tuple[int, int]
"""From, to: epoch milliseconds."""


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
    alike: dict[tuple[str, str, str, float], list[tuple[float, float]]] = defaultdict(list)
    for bar in bars:
        from_ms, to_ms = max(bar.from_ms, span[0]), min(bar.to_ms, span[1])
        if bar.lane not in place or from_ms > to_ms:
            continue
        width = _day(to_ms) - _day(from_ms)
        alike[bar.lane, bar.colour, bar.hatch, bar.height].append((_day(from_ms), width))
        if bar.name and to_ms - from_ms >= (span[1] - span[0]) * NAMED_SHARE:
            _name_bar(axes, bar, (from_ms + to_ms) / 2, place[bar.lane])
    for (lane, colour, hatch, height), found in alike.items():
        low = place[lane] + 0.35 - height
        drawn = axes.broken_barh(found, (low, height), facecolors=colour)
        if hatch:
            drawn.set(hatch=hatch, edgecolor=HATCH_COLOUR, linewidth=0)
    name_lanes(axes, lanes)
    axes.set_xlim(_day(span[0]), _day(span[1]))
    locator = AutoDateLocator(tz=UTC)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(
        ConciseDateFormatter(
            locator,
            tz=UTC,
            formats=["%Y", "%Y-%m", "%Y-%m-%d", "%H:%M", "%H:%M", "%H:%M:%S.%f"],
            zero_formats=["", "%Y", "%Y-%m", "%Y-%m-%d", "%H:%M", "%H:%M:%S"],
            offset_formats=["", "", "", "%Y-%m-%d", "%Y-%m-%d", "%Y-%m-%d"],
        )
    )


def _day(moment_ms: float) -> float:
    """A moment on matplotlib's axis of time."""
    return float(date2num(np.datetime64(round(moment_ms), "ms")))


def _name_bar(axes: Axes, bar: Bar, middle_ms: float, lane: int) -> None:
    red, green, blue = (value**2.2 for value in to_rgb(bar.colour))
    ink = "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > DARK else "white"
    axes.text(
        _day(middle_ms),
        lane + 0.35 - bar.height / 2,
        lane_name(bar.name),
        color=ink,
        fontsize="x-small",
        ha="center",
        va="center",
        clip_on=True,
        parse_math=False,
    )


def draw_marks(axes: Axes, marks: Iterable[Mark], lanes: Sequence[str], span: Span) -> None:
    """A triangle at each of these moments."""
    alike: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for mark in marks:
        if span[0] <= mark.at_ms <= span[1]:
            alike[mark.colour].append((_day(mark.at_ms), lanes.index(mark.lane)))
    for colour, found in alike.items():
        days, places = zip(*found, strict=True)
        axes.plot(days, places, "^", markersize=6, color=colour, clip_on=False)


def write_above(figure: Figure, title: str, sentences: Iterable[str]) -> None:
    """A title and sentences above all pictures, wrapped and cut to a few lines."""
    lines = [
        line for sentence in sentences for line in textwrap.wrap(sentence, width=TEXT_CHARACTERS)
    ]
    *shown, last = lines or [""]
    if len(shown) >= TEXT_LINES:
        shown[TEXT_LINES - 1 :] = ["…"]
    text = "\n".join((title, *shown, last))
    figure.suptitle(
        text, x=0.01, ha="left", fontsize="small", linespacing=1.4, wrap=False, parse_math=False
    )


def explain_colours(figure: Figure, meanings: Iterable[Meaning]) -> None:
    """A legend below the pictures, with what dotted lines are."""
    handles: list[Line2D | Patch] = []
    for meaning in meanings:
        if meaning.is_mark:
            handles.append(
                Line2D([], [], color=meaning.colour, marker="^", linestyle="", label=meaning.text)
            )
            continue
        patch = Patch(facecolor=meaning.colour, label=meaning.text)
        if meaning.hatch:
            light = meaning.colour == "#ffffff"
            patch.set(hatch=meaning.hatch, edgecolor="#444444" if light else "white", linewidth=0)
        handles.append(patch)
    handles.append(
        Line2D([], [], color="#6b7480", linewidth=0.9, linestyle=":", label="an epoch began")
    )
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=LEGEND_COLUMNS,
        frameon=False,
        fontsize="small",
    )


def draw_moments(axes: Axes, moments: Iterable[int], span: Span) -> None:
    """Dotted lines across all lanes; none where there are so many that they would hide the bars."""
    days = [_day(moment) for moment in moments if span[0] <= moment <= span[1]]
    if len(days) > LINES_MAX:
        return
    across = axes.get_xaxis_transform()
    axes.vlines(days, 0, 1, "#6b7480", linestyles=":", linewidths=0.6, transform=across, zorder=0)


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
