"""The browser, and the pages of all bundled logs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from rebalance_audit.demo_log import extract_to
from tests.cli.call import call, segments
from tests.page.open_page import LOGS
from workshop.chromium import chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or the Chrome of other systems, without a window."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Name of a log -> its page."""
    folder = tmp_path_factory.mktemp("pages")
    extract_to(folder / "demo-log")
    found = {}
    for name in LOGS:
        log = folder / "demo-log" if name == "demo" else segments(name)
        found[name] = folder / f"{name}.html"
        outcome = call("report", log, "--out", found[name])
        assert outcome.code == 0, outcome.err
    return found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page of a desktop."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()
