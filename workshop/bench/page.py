"""How large the page of a large log is, and how soon Chromium shows it: `python -m workshop.bench.page`."""

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

from workshop.bench.scale_log import Shape, scale_log
from workshop.chromium import chromium

LOGS: Final = (
    ("170 groups, 8 000 rebalances", Shape(20_000, groups=170, rounds=24), 2.0),
    ("500 groups, 100 000 epochs", Shape(300_000, groups=500, rounds=100), 4.0),
)
"""A log, and within how many seconds its page must open."""
SIZE_MAX: Final = 6_000_000
COMMAND: Final = Path(sys.executable).with_name("rebalance-audit")


def main() -> None:
    """Make the pages and open them."""
    headings = (
        "page",
        "made in s",
        "MB",
        "open in s",
        "all drawn in s",
        "first group in s",
        "zoom in s",
    )
    table = Table(*headings, "")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name, shape, limit_s in LOGS:
            file, log = Path(folder) / f"{shape.groups}.html", scale_log(shape)
            began = time.perf_counter()
            subprocess.run([COMMAND, "report", log, "--out", file], check=True)
            made_s = time.perf_counter() - began
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            open_s, *others_s = opened(page, file)
            size = file.stat().st_size
            good = open_s <= limit_s and size <= SIZE_MAX
            times = (f"{each:.2f}" for each in (open_s, *others_s))
            result = "met" if good else "missed"
            table.add_row(name, f"{made_s:.1f}", f"{size / 1e6:.1f}", *times, result)
            page.close()
        browser.close()
    Console(width=120).print(table)


def opened(page: Page, file: Path) -> tuple[float, float, float, float]:
    """Seconds until what is in view can be used, until all is drawn, until a group's section is, and to zoom."""
    began = time.perf_counter()
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-ready=yes]")
    in_view = time.perf_counter()
    page.wait_for_selector("html[data-drawn=yes]")
    there = time.perf_counter()
    page.locator("#group-table a").first.click()
    page.locator("section.group .picture").wait_for()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    shown = time.perf_counter()
    page.get_by_role("button", name="Zoom in").click()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    return in_view - began, there - began, shown - there, time.perf_counter() - shown


if __name__ == "__main__":
    main()
