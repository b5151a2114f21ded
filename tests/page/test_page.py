"""The report's page in a real browser: nothing is fetched, nothing fails, and all works with mouse and keyboard."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from rebalance_audit.demo_log import extract_to
from rebalance_audit.resources import checkout_root
from tests.cli.call import call
from tests.cli.commands.test_report import HOSTILE, report, rows_of, write_groups
from tests.page.open_page import (
    LOGS,
    Troubles,
    counted,
    drawn_shades,
    first_cells,
    milliseconds,
    opened,
    window,
)

PAPER_WIDTH = 703
"""Of 210 mm less two margins of 12, at 96 dots an inch."""
NARROWEST_WORDS = (
    "Math.min(...[...document.querySelectorAll('td.words, td.name')].filter(each => each.offsetParent)"
    ".map(each => each.clientWidth))"
)
LEGEND_COLOURS = """
  Object.fromEntries([...document.querySelectorAll("figure ul.legend li")]
    .map(each => [each.textContent, getComputedStyle(each.querySelector("i")).backgroundColor]))
"""
REVIEW = checkout_root() / "dist" / "page"
"""Where pictures go."""
SCREENS: Final[tuple[tuple[int, Literal["light", "dark"]], ...]] = ((1440, "light"), (390, "dark"))
"""Widths and colour schemes."""


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[tuple[Page, Troubles]]:
    """One tab for the pages of all logs: one process, which compiles the code of the charts once."""
    page = browser.new_page()
    yield page, Troubles(page)
    page.close()


@pytest.mark.parametrize("log", LOGS)
def test_every_log_makes_a_page_that_works(
    log: str, tab: tuple[Page, Troubles], pages: dict[str, Path]
) -> None:
    """No message, error or request but the file; groups open; axe-core finds nothing serious; no sideways scroll."""
    page, troubles = tab
    troubles.file, troubles.seen = pages[log], []
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        opened(page, pages[log])
        links = page.locator("#group-table a")
        wanted = min(links.count(), 4)
        for number in range(wanted):
            links.nth(number).click()
        # The worst group is open already, and need not be one of the first four.
        expect(page.locator("section.group").nth(wanted - 1)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert width > 390 or page.evaluate(NARROWEST_WORDS) >= 9 * 15
        legend = page.evaluate(LEGEND_COLOURS)
        assert legend.items() <= drawn_shades(page, scheme).items()
        assert len(set(legend.values())) == len(legend)
        found = [
            violation
            for violation in Axe().run(page).response["violations"]
            if violation["impact"] in {"serious", "critical"}
        ]
        problems = [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found]
        assert found == [], json.dumps(problems, indent=1)
        assert troubles.seen == []
        if os.environ.get("PICTURES"):
            keep_pictures(page, f"{log}-{width}-{scheme}", on_paper=scheme == "light")


def keep_pictures(page: Page, name: str, *, on_paper: bool) -> None:
    """What the page looks like, for people."""
    REVIEW.mkdir(parents=True, exist_ok=True)
    page.evaluate("scrollTo(0, 0)")  # the filters stay on the screen, and would cover a section
    page.screenshot(path=REVIEW / f"{name}.png", full_page=True)
    if on_paper:
        page.pdf(path=REVIEW / f"{name}-a4.pdf", prefer_css_page_size=True)


def test_zoom_moves_all_pictures_from_the_whole_log_to_a_millisecond(
    page: Page, pages: dict[str, Path]
) -> None:
    """By buttons, wheel, drag and a stretch that is marked; a double click shows everything again."""
    opened(page, pages["demo"])
    whole = window(page)
    lanes = page.locator("#chart-lanes")
    lanes.scroll_into_view_if_needed()
    box = lanes.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 40
    page.keyboard.down("Shift")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 100, y, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    marked = window(page)
    assert whole[0] < marked[0] < marked[1] < whole[1]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 100, y, steps=3)
    page.mouse.up()
    dragged = window(page)
    assert marked[0] < dragged[0]
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function(
        "before => document.getElementById('from').value !== before", arg=dragged[0]
    )
    for _ in range(25):
        page.get_by_role("button", name="Zoom in").click()
    at_last = window(page)
    assert int(at_last[1][-3:]) - int(at_last[0][-3:]) in {1, -999}
    # Lanes are drawn anew a moment after the last step, and a click that has begun on the old ones comes to nothing.
    zoomed = f"t={milliseconds(at_last[0])},{milliseconds(at_last[1])}"
    page.wait_for_function("link => location.hash.endsWith(link)", arg=zoomed)
    # Beside the bars: on a machine with much to do a click on one has opened its group before the second comes.
    lanes.dblclick(position={"x": 10, "y": 10})
    assert window(page) == whole


def test_a_bar_opens_its_group_and_a_double_click_on_it_shows_everything(
    page: Page, pages: dict[str, Path]
) -> None:
    """A click opens the group once it is too late for a second; a double click opens nothing."""
    page.clock.install()
    opened(page, pages["demo"])
    expect(page.locator("section.group")).to_have_count(1)
    whole = window(page)
    page.get_by_role("button", name="Zoom in").click()
    lanes = page.locator("#chart-lanes")
    lanes.scroll_into_view_if_needed()
    box = lanes.bounding_box()
    assert box is not None
    page.clock.pause_at(page.evaluate("Date.now() + 10_000"))
    left, top = lanes.evaluate(
        """(each, shown) => {
          const chart = echarts.getInstanceByDom(each);
          const { data } = chart.getOption().series[0];
          const bar = data.findLast(([from]) => shown[0] < from && from < shown[1]);
          return chart.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, bar);
        }""",
        [milliseconds(moment) for moment in window(page)],
    )
    x, y = box["x"] + left + 1, box["y"] + top
    page.mouse.click(x, y)
    page.clock.run_for(250)
    page.mouse.click(x, y, click_count=2)
    page.clock.run_for(1_000)
    assert window(page) == whole
    expect(page.locator("section.group")).to_have_count(1)
    page.get_by_role("button", name="Zoom in").click()
    page.clock.run_for(1_000)
    page.mouse.click(x, y)
    page.clock.run_for(1_000)
    expect(page.locator("section.group")).to_have_count(2)


@pytest.mark.parametrize(
    "names",
    [
        [f"payments-production-europe-{part}" for part in ("ledger", "refund", "settle")],
        [f"payments-{number}-production-europe" for number in range(3)],
    ],
    ids=("end", "beginning"),
)
def test_long_names_differ_on_the_page(names: list[str], browser: Browser, tmp_path: Path) -> None:
    """Beside the lanes of groups, on a desktop and on a telephone: what is left of each name is its own."""
    write_groups(tmp_path, *(rows_of(name) for name in names))
    report(tmp_path)
    for width in (1440, 390):
        page = browser.new_page(viewport={"width": width, "height": 900})
        opened(page, tmp_path / "pages" / "report.html")
        labels = page.evaluate(
            """() => { const { data, axisLabel } = echarts.getInstanceByDom(document.getElementById("chart-lanes"))
                .getOption().yAxis[0]; return data.map(axisLabel.formatter); }"""
        )
        assert len(set(labels)) == len(names), labels
        page.close()


def test_marks_say_what_they_are(page: Page, pages: dict[str, Path]) -> None:
    """Under the pointer and from mark to mark with the keyboard: moment, member or group, cause with certainty."""
    opened(page, pages["demo"])
    lanes = page.locator("#chart-lanes")
    lanes.focus()
    lanes.press("n")
    said = page.locator("#said")
    expect(said).to_have_text(
        re.compile(
            r"group-\d.*2026-11-21 09:10.*(epoch|generation).*\((proven|probable|possible)\)"
        )
    )
    first = said.inner_text()
    lanes.press("n")
    expect(said).not_to_have_text(first)
    lanes.press("p")
    expect(said).to_have_text(first)
    picture = page.locator("section.group .picture")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 8 + 22 * 1.5)
    expect(picture.get_by_text(re.compile("Stable|Reconciling|Assigning|epoch"))).to_be_visible()
    before = window(page)
    picture.focus()
    picture.press("+")
    picture.press("ArrowRight")
    assert window(page)[0] > before[0]
    picture.press("0")
    assert window(page) == before


def test_filters_leave_what_was_asked_for(page: Page, pages: dict[str, Path]) -> None:
    """By group, severity of findings, cause and time: table, lanes and findings follow, and come back."""
    opened(page, pages["demo"])
    everything = first_cells(page)
    page.locator("#filter-group").fill("coop")
    assert first_cells(page) == [name for name in everything if "coop" in name]
    expect(page.locator("#lanes-shown")).to_have_text("1 to 2 of 2")
    assert counted(page) == sum(
        int(text) for text in page.locator("#group-table td:nth-child(4)").all_inner_texts()
    )
    page.locator("#clear").click()
    assert first_cells(page) == everything
    assert counted(page) == 132
    page.locator("#filter-severity").select_option("warning")
    expect(page.locator("#all-findings .finding:visible .severity")).to_have_text(["warning"] * 2)
    assert 0 < len(first_cells(page)) < len(everything)
    page.locator("#clear").click()
    page.locator("#filter-cause").select_option(label="regex resolved")
    assert 0 < len(first_cells(page)) < len(everything)
    page.locator("#clear").click()
    page.locator("#to").fill("2026-11-21 09:10:20.000")
    page.locator("#to").press("Enter")
    expect(page.locator("#group-table tbody tr")).to_have_count(3)
    page.get_by_role("button", name="Whole time").click()
    expect(page.locator("#group-table tbody tr")).to_have_count(len(everything))


def test_every_table_sorts_by_its_headings(page: Page, pages: dict[str, Path]) -> None:
    """Numbers by size, the largest first; once more turns it round; the heading says so to a screen reader."""
    opened(page, pages["demo"])
    heading = page.locator("#group-table th", has_text="Rebalances")
    heading.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    counts = [
        int(text.split()[0])
        for text in page.locator("#group-table tbody td:nth-child(4)").all_inner_texts()
    ]
    assert counts == sorted(counts, reverse=True)
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    tables = page.locator("table.sorted")
    for number in range(tables.count()):
        table = tables.nth(number)
        button = table.locator("th button").first
        button.click()
        names = table.locator("tbody tr td:first-child").all_inner_texts()
        button.click()
        assert (
            table.locator("tbody tr td:first-child").all_inner_texts()[0] == max(names)
            or len(set(names)) > 1
        )


def test_a_group_without_room_for_its_members_opens_too(page: Page, tmp_path: Path) -> None:
    """It has its rebalances over time, its findings, and the command that shows all of it; its link lasts."""
    extract_to(tmp_path / "log")
    file = tmp_path / "page.html"
    assert call("report", tmp_path / "log", "--details", "1", "--out", file).code == 0
    opened(page, file, "#group=group-5-consumer-static")
    section = page.locator("section.group")
    expect(section.locator("h3")).to_have_text("group-5-consumer-static")
    expect(section.locator(".facts")).to_contain_text("rebalances 12 · rebalancing for 17.9 s")
    expect(section.locator("code")).to_contain_text("--group 'group-5-consumer-static'")
    expect(section.locator("li")).to_contain_text("left and returned 3 times")
    section.locator(".picture").press("n")
    expect(page.locator("#said")).to_have_text(re.compile(r"^rebalances, 2026.*epoch"))


def test_time_stays_at_hand_beside_a_group(page: Page, pages: dict[str, Path]) -> None:
    """Filters and steps of time stay on the screen when a group far down is looked at, and cover no heading."""
    opened(page, pages["demo"])
    page.locator("#group-table a", has_text="group-4-static").click()
    heading = page.locator("section.group h3", has_text="group-4-static")
    expect(page.locator("#filters")).to_be_in_viewport()
    filters, head = page.locator("#filters").bounding_box(), heading.bounding_box()
    assert filters is not None
    assert head is not None
    assert filters["y"] + filters["height"] <= head["y"]


def test_on_paper_no_picture_is_wider_than_a4(
    page: Page, pages: dict[str, Path], tmp_path: Path
) -> None:
    """Pictures are drawn for the paper, which is white, and drawn for the screen again afterwards."""
    opened(page, pages["demo"])
    page.locator("#group-table a").first.click()
    page.set_viewport_size({"width": PAPER_WIDTH, "height": 900})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER_WIDTH
    widths = page.evaluate(
        "[...document.querySelectorAll('.chart canvas')].map(each => each.clientWidth)"
    )
    assert len(widths) == 4
    assert max(widths) <= PAPER_WIDTH
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#chart-lanes canvas").evaluate("each => each.clientWidth") > 1000
    page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    assert (tmp_path / "page.pdf").stat().st_size > 50_000


def test_names_of_the_log_stay_text_in_a_browser(page: Page, tmp_path: Path) -> None:
    """Whoever joins a group chooses its names; none of them becomes an element or runs."""
    write_groups(tmp_path, rows_of(HOSTILE, member_id=HOSTILE, client_id=HOSTILE, topic=HOSTILE))
    report(tmp_path)
    file = tmp_path / "pages" / "report.html"
    troubles = Troubles(page)
    troubles.file = file
    page.on("dialog", lambda dialog: troubles.seen.append(dialog.message))
    opened(page, file)
    page.locator("section.group .picture").focus()
    for _ in range(4):
        page.keyboard.press("n")
    assert page.locator("img").count() == 0
    assert "onerror" in page.locator("section.group").inner_text()
    assert troubles.seen == []
