"""The page of several clusters that have groups of the same id, in a browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.cli.call import call
from tests.page.open_page import Troubles, opened
from tests.support.fleet import WORST_FIRST, write_fleet


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page."""
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder / "lake")
    outcome = call("report", "--lake", folder / "lake", "--out", folder / "page.html")
    assert outcome.code == 0, outcome.err
    return folder / "page.html"


def listed(page: Page) -> list[str]:
    """Names in the table of groups."""
    return page.locator("#group-table tbody tr:visible :is(td, th):first-child").all_inner_texts()


def test_one_cluster_can_be_chosen(page: Page, file: Path) -> None:
    """Its groups, rebalances and findings stay; the address keeps the choice."""
    troubles = Troubles(page)
    troubles.file = file
    opened(page, file)
    assert listed(page) == WORST_FIRST
    page.locator("#filter-cluster").select_option("eu/1")
    assert listed(page) == ["eu~11/checkout"]
    expect(page.locator("#all-rebalances tbody tr:visible")).to_have_count(1)
    expect(page.locator("#all-findings li[data-group]:visible")).to_have_count(1)
    assert "cluster=eu%2F1" in page.url
    page.locator("#clear").click()
    assert listed(page) == WORST_FIRST
    assert troubles.seen == []


@pytest.mark.parametrize("name", WORST_FIRST)
def test_each_group_has_an_address(page: Page, file: Path, name: str) -> None:
    """The section that opens is of that cluster alone."""
    cluster = name.replace("~1", "/").rpartition("/")[0]
    opened(page, file, f"#group={name.replace('/', '%2F')}")
    section = page.locator("#opened")
    expect(section).to_contain_text(name)
    expect(section).to_contain_text(f"{cluster}-member")
