"""What is drawn of a group is what the tables say of it."""

from collections import defaultdict

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba

import rebalance_audit as ra
from rebalance_audit.demo_log import extract_to
from rebalance_audit.report import figures
from tests.cli.call import segments
from tests.report.test_colours import contrast

DAY_S = 86_400


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> ra.Audit:
    """The audit of the bundled log."""
    return ra.audit_segments(extract_to(tmp_path_factory.mktemp("demo")))


def seconds_of(axes: Axes, colour: str) -> dict[str, float]:
    """Lane -> how many seconds of a colour are drawn in it."""
    lanes = [label.get_text() for label in axes.get_yticklabels()]
    found: dict[str, float] = defaultdict(float)
    for drawn in axes.collections:
        assert isinstance(drawn, PolyCollection)
        if tuple(np.asarray(drawn.get_facecolor())[0]) != to_rgba(colour):
            continue
        for path in drawn.get_paths():
            box = path.get_extents()
            found[lanes[round((box.y0 + box.y1) / 2)]] += box.width * DAY_S
    return found


def test_partitions_are_red_as_long_as_nobody_owned_them(demo: ra.Audit) -> None:
    """The sums of gold.ownership, lane by lane."""
    _, under = ra.plot_group(demo, "group-3-consumer").axes
    expected: dict[str, float] = defaultdict(float)
    for row in demo.ownership.where(["group-3-consumer"]):
        if row["unowned_before_ms"]:
            expected[f"{row['topic']} {row['topic_partition']}"] += row["unowned_before_ms"] / 1000
    assert len(expected) > 20
    assert seconds_of(under, figures.STANDING_STILL) == pytest.approx(expected, abs=0.01)


def test_a_ticket_says_what_colours_mean(demo: ra.Audit) -> None:
    """A legend, owners' names on the bars, and hatching where red alone would have to be told from green."""
    figure = ra.plot_group(demo, "group-3-consumer")
    _, under = figure.axes
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *figures.MEANINGS.values(),
        "an epoch began",
    ]
    assert {"c4", "c11", "c54"} <= {text.get_text() for text in under.texts}
    for drawn in under.collections:
        is_red = tuple(np.asarray(drawn.get_facecolor())[0]) == to_rgba(figures.STANDING_STILL)
        assert bool(drawn.get_hatch()) == is_red
    for colour in figures.OWNERS:
        assert contrast(colour, "#ffffff") >= 4.5
    for colour in figures.MEANINGS:
        assert contrast(colour, "#ffffff") >= 3
    assert contrast(figures.STAYING, figures.GIVING_UP) >= 3


def test_who_did_not_give_up_its_partitions_is_marked_until_it_was_removed(demo: ra.Audit) -> None:
    """Client c74 of the demo was frozen for twenty seconds; nobody else took as long in all."""
    above, _ = ra.plot_group(demo, "group-3-consumer").axes
    marked = seconds_of(above, figures.GIVING_UP)
    assert marked.pop("c74") == pytest.approx(20.0, abs=0.1)
    assert max(marked.values()) < 15


def test_a_window_cuts_what_is_drawn(demo: ra.Audit) -> None:
    """Both pictures have the asked stretch of time, and bars that reach beyond it end at its sides."""
    figure = ra.plot_group(
        demo, "group-3-consumer", start="2026-11-21T09:11:50Z", end="2026-11-21T09:12:00Z"
    )
    for axes in figure.axes:
        low, high = axes.get_xlim()
        assert (high - low) * DAY_S == pytest.approx(10)
    assert seconds_of(figure.axes[0], figures.STAYING)["c74"] == pytest.approx(10, abs=0.01)


@pytest.mark.filterwarnings("ignore:Glyph")  # the font of the tests is not everybody's
@pytest.mark.parametrize("capture", ["oddities", "compacted", "share-streams"])
def test_any_group_can_be_drawn(capture: str) -> None:
    """Names with dollar signs, control characters and none; cut lives; groups without partitions of topics."""
    audit = ra.audit_segments(segments(capture))
    for group_id in sorted(audit.group_ids)[:3]:
        ra.plot_group(audit, group_id).draw_without_rendering()
    ra.plot_lost_time(audit).draw_without_rendering()


def test_a_group_that_is_not_there() -> None:
    """The error names it, and the nearest that is."""
    with pytest.raises(ra.UnknownGroup, match="did you mean 'neu'"):
        ra.plot_group(ra.audit_segments(segments("failover")), "ne")
