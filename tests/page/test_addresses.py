"""Rebalances, filters and times of the page: their addresses, and what is said where there is nothing to show."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.open_page import first_cells, milliseconds, opened, window


def test_a_rebalance_has_an_address(page: Page, pages: dict[str, Path]) -> None:
    """By click, label and keyboard: its group opens at its time, its row is marked, and the link lasts."""
    opened(page, pages["demo"])
    page.locator(".verdict a").click()
    expect(page.locator("tr.chosen")).to_have_count(1)
    expect(page.locator("tr.chosen")).to_contain_text("22.7 s")
    expect(page.locator("tr.chosen")).to_contain_text("c74, c54")
    page.wait_for_function(
        "() => location.hash.startsWith('#group=group-3-consumer&rebalance=11&t=')"
    )
    shown, address = window(page), page.evaluate("location.hash")
    page.goto("about:blank")
    opened(page, pages["demo"], address)
    assert window(page) == shown
    expect(page.locator("tr.chosen")).to_contain_text("22.7 s")
    page.get_by_role("button", name="Whole time").click()
    lanes = page.locator("#chart-lanes")
    lanes.focus()
    lanes.press("n")
    page.set_viewport_size({"width": 1100, "height": 700})  # every picture is drawn anew
    page.wait_for_timeout(500)
    lanes.press("Enter")
    expect(page.locator("tr.chosen")).to_have_count(2)
    page.wait_for_function("before => location.hash !== before", arg=address)
    assert "rebalance=" in page.evaluate("location.hash")
    page.goto("about:blank")
    opened(page, pages["demo"])
    lanes = page.locator("#chart-lanes")
    lanes.scroll_into_view_if_needed()
    last = page.locator("#group-table a").nth(1).inner_text()
    place = lanes.evaluate(
        """(each, name) => echarts.getInstanceByDom(each)
          .convertToPixel({ yAxisIndex: 0 }, echarts.getInstanceByDom(each).getOption().yAxis[0].data.indexOf(name))""",
        last,
    )
    lanes.click(position={"x": 170, "y": place})
    expect(page.locator("section.group h3").first).to_have_text(last)


def test_filters_are_in_the_address(page: Page, pages: dict[str, Path]) -> None:
    """And what they leave out is said in a sentence, with the way back."""
    opened(page, pages["demo"])
    page.locator("#filter-cause").select_option(label="regex resolved")
    page.locator("#filter-group").fill("group-3")
    page.locator("#search").fill("consumer")
    address = page.evaluate("location.hash")
    assert address == "#cause=regex_resolved&q=group-3&find=consumer"
    rows = first_cells(page)
    page.goto("about:blank")
    opened(page, pages["demo"], address)
    assert first_cells(page) == rows
    expect(page.locator("#filter-cause")).to_have_value("regex_resolved")
    page.locator("#filter-group").fill("no such group")
    for sentence, place in (
        ("No rebalance passes the filters.", "#no-groups"),
        ("No finding passes the filters", "#no-findings"),
        ("None of these rebalances passes the filters.", "#no-rebalances"),
        ("No group passes the search and the filters.", "#no-hits"),
    ):
        expect(page.locator(place)).to_contain_text(sentence)
    expect(page.locator("#chart-lanes")).to_be_hidden()
    page.locator("#no-groups button").click()
    expect(page.locator("#chart-lanes")).to_be_visible()
    assert page.evaluate("location.hash") == ""


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("2026-13-40", "“2026-13-40” is not a moment: write it as 2026-11-21 09:10:18, in UTC."),
        ("2030-01-01", "The start has to be before the end."),
        (
            "2026-11-21 09:12:18.000",
            "The log ends at 2026-11-21 09:12:16.509 UTC: nothing after that is known.",
        ),
    ],
)
def test_a_wrong_time_is_refused(
    start: str, sentence: str, page: Page, pages: dict[str, Path]
) -> None:
    """Nothing moves, and a sentence says what is wrong."""
    opened(page, pages["demo"])
    before = page.locator("#chart-lanes").evaluate(
        "each => echarts.getInstanceByDom(each).getOption().xAxis[0].min"
    )
    page.locator("#from").fill(start)
    page.locator("#from").press("Enter")
    expect(page.locator("#complaint")).to_have_text(sentence)
    assert before == page.locator("#chart-lanes").evaluate(
        "each => echarts.getInstanceByDom(each).getOption().xAxis[0].min"
    )
    page.locator("#from").fill("2026-11-21 09:11")
    page.locator("#from").press("Enter")
    expect(page.locator("#complaint")).to_be_hidden()


def test_a_window_after_the_log_is_refused(page: Page, pages: dict[str, Path]) -> None:
    """Nothing is known of it, which is no all-clear."""
    opened(page, pages["demo"])
    page.locator("#to").fill("2030-01-02")
    page.locator("#to").press("Enter")
    page.locator("#from").fill("2030-01-01")
    page.locator("#from").press("Enter")
    page.locator("#to").fill("2030-01-02")
    page.locator("#to").press("Enter")
    expect(page.locator("#complaint")).to_have_text(
        "The log ends at 2026-11-21 09:12:16.509 UTC: nothing after that is known."
    )


def test_a_telephone_shows_cards(browser: Browser, pages: dict[str, Path]) -> None:
    """Each value of a row beside its heading; no column is lost, and the verdict is on the first screen."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    opened(page, pages["demo"])
    expect(page.locator(".verdict")).to_be_in_viewport(ratio=1)
    expect(page.locator(".tile").last).to_be_in_viewport(ratio=1)
    row = page.locator("#group-table tbody tr").first
    headings = page.locator("#group-table th").all_text_contents()
    assert row.locator("td").evaluate_all("cells => cells.map(each => each.dataset.label)") == [
        heading.strip() for heading in headings
    ]
    for number in range(len(headings)):
        expect(row.locator("td").nth(number)).to_be_visible()
    page.close()


def test_addresses_open_a_group_at_a_time(page: Page, pages: dict[str, Path]) -> None:
    """The address follows group and time; in a page recreated it shows the same."""
    opened(page, pages["demo"])
    page.locator("#group-table a", has_text="group-4-static").click()
    section = page.locator("section.group", has=page.get_by_role("heading", name="group-4-static"))
    section.get_by_role("button", name="Zoom to this group").click()
    page.get_by_role("button", name="Zoom in").click()
    shown = window(page)
    address = f"#group=group-4-static&t={','.join(str(milliseconds(moment)) for moment in shown)}"
    page.wait_for_function("address => location.hash === address", arg=address)
    page.goto("about:blank")
    opened(page, pages["demo"], address)
    assert window(page) == shown
    expect(page.locator("section.group h3")).to_have_text(["group-4-static"])
    section.get_by_role("button", name="Lanes of partitions").click()
    expect(section.get_by_role("button", name="Lanes of partitions")).to_have_attribute(
        "aria-pressed", "true"
    )
    section.get_by_role("button", name="Close").click()
    expect(section).to_have_count(0)
