"""What is drawn of a group is what the tables say of it."""

from collections import defaultdict

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba

import rebalance_audit as ra
from rebalance_audit.demo_log import extract_to
from rebalance_audit.report.colours import CAUSE_KINDS, COSTS, LIGHT_PAPER
from rebalance_audit.report.group_picture import (
    GAP,
    GIVING_UP,
    IN_THE_GROUP,
    REBALANCES,
    STATE,
    UNCERTAIN,
    WITHOUT_OWNER,
)
from tests.cli.audited import audited_once
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
        if not isinstance(drawn, PolyCollection):  # dotted lines
            continue
        if tuple(np.asarray(drawn.get_facecolor())[0]) != to_rgba(colour):
            continue
        for path in drawn.get_paths():
            box = path.get_extents()
            found[lanes[round((box.y0 + box.y1) / 2)]] += box.width * DAY_S
    return found


def test_partitions_are_red_as_long_as_they_had_no_owner(demo: ra.Audit) -> None:
    """The sums of gold.ownership, lane by lane."""
    *_, under = ra.plot_group(demo, "group-3-consumer").axes
    expected: dict[str, float] = defaultdict(float)
    for row in demo.ownership.where(["group-3-consumer"]):
        if row["unowned_before_ms"]:
            expected[f"{row['topic']} {row['topic_partition']}"] += row["unowned_before_ms"] / 1000
    assert len(expected) > 20
    assert seconds_of(under, WITHOUT_OWNER) == pytest.approx(expected, abs=0.01)


def test_a_ticket_says_what_colours_mean(demo: ra.Audit) -> None:
    """A legend, owners' names on the bars, and lines across where red alone would not be seen by everybody."""
    figure = ra.plot_group(demo, "group-3-consumer")
    *_, under = figure.axes
    (legend,) = figure.legends
    entries = [text.get_text() for text in legend.get_texts()]
    assert len(entries) == len(set(entries))
    assert {
        "state: Reconciling",
        f"time lost: {COSTS['kept_partitions'].name}",
        "cause: a member joined",
        "without owner",
        "an epoch began",
    } < set(entries)
    assert {"c4", "c11", "c54"} <= {text.get_text() for text in under.texts}
    for drawn in (each for each in under.collections if isinstance(each, PolyCollection)):
        is_red = tuple(np.asarray(drawn.get_facecolor())[0]) == to_rgba(WITHOUT_OWNER)
        assert drawn.get_hatch() == (GAP if is_red else None)
    for colour in (IN_THE_GROUP, GIVING_UP, WITHOUT_OWNER):
        assert contrast(colour, LIGHT_PAPER) >= 3
    assert contrast(IN_THE_GROUP, GIVING_UP) >= 1.3


def test_a_ticket_opens_with_the_verdict(demo: ra.Audit) -> None:
    """The sentences of `explain`, and when the log ends; a window has the verdict on itself."""
    figure = ra.plot_group(demo, "group-3-consumer")
    title, first, *others = figure.get_suptitle().split("\n")
    assert title == "group-3-consumer"
    assert first.startswith("The longest rebalance took 22.7 s: c74")
    assert others[-1].startswith("Log ends at 2026-11-21")
    quiet = ra.plot_group(
        demo, "group-3-consumer", start="2026-11-21T07:00Z", end="2026-11-21T08:00Z"
    )
    assert quiet.get_suptitle().split("\n")[1] == "No rebalance in this time."


def test_bars_have_the_colour_of_what_cost_the_time(demo: ra.Audit) -> None:
    """The longest rebalance is the one in which c74 kept its partitions; each epoch has a mark of its cause."""
    above, *_ = ra.plot_group(demo, "group-3-consumer").axes
    kept = seconds_of(above, COSTS["kept_partitions"].shades.light)
    expected = [
        row["duration_ms"]
        for row in demo.rebalances.where(["group-3-consumer"])
        if row["held_up_why"] and row["held_up_why"][0] == "kept_partitions"
    ]
    assert kept[REBALANCES] == pytest.approx(sum(expected) / 1000, abs=0.01)
    shades = {to_rgba(kind.shades.light) for kind in CAUSE_KINDS}
    assert {to_rgba(line.get_color()) for line in above.lines if line.get_marker() == "^"} <= shades


def test_what_a_classic_log_leaves_open_is_hatched() -> None:
    """No stretch of a classic group's state is plain where the group may have been rebalancing."""
    figure = ra.plot_group(audited_once(segments("classic-static")), "fleet")
    above, _, under = figure.axes
    assert {drawn.get_hatch() for drawn in (*above.collections, *under.collections)} == {
        None,
        UNCERTAIN,
    }
    (legend,) = figure.legends
    assert "hatched: not certain" in [text.get_text() for text in legend.get_texts()]
    assert STATE in [label.get_text() for label in above.get_yticklabels()]


def test_who_did_not_give_up_its_partitions_is_marked_until_it_was_removed(demo: ra.Audit) -> None:
    """Client c74 of the demo was frozen for twenty seconds; no other took as long in all."""
    _, members, _ = ra.plot_group(demo, "group-3-consumer").axes
    marked = seconds_of(members, GIVING_UP)
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
    assert seconds_of(figure.axes[1], IN_THE_GROUP)["c74"] == pytest.approx(10, abs=0.01)


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
