"""A page in a browser: opened, watched, and read."""

import json
from datetime import datetime
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.cli.call import CAPTURES

PATIENCE_MS = 60_000
"""On a machine that has much else to do."""
expect.set_options(timeout=PATIENCE_MS)

LOGS = ["demo", *sorted(folder.name for folder in CAPTURES.iterdir())]


class Troubles:
    """What a page should not do: requests other than for the file, errors, messages on the console."""

    def __init__(self, page: Page) -> None:
        self.seen: list[str] = []
        self.file: Path | None = None
        page.on("console", lambda message: self.seen.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.seen.append(f"error: {error}"))
        page.on("request", lambda request: self._request(request.url))

    def _request(self, url: str) -> None:
        if self.file is None or url.partition("#")[0] != self.file.as_uri():
            self.seen.append(f"request: {url[:100]}")


def opened(page: Page, file: Path, address: str = "") -> Page:
    """The page, once everything on it is drawn."""
    page.set_default_timeout(PATIENCE_MS)
    page.goto(file.as_uri() + address)
    page.wait_for_selector("html[data-drawn=yes]")
    return page


def window(page: Page) -> tuple[str, str]:
    """The moments at both ends of the pictures."""
    return page.locator("#from").input_value(), page.locator("#to").input_value()


def milliseconds(moment: str) -> int:
    """Since 1970, of a moment as the page writes it, in UTC."""
    return round(datetime.fromisoformat(f"{moment}+00:00").timestamp() * 1000)


def counted(page: Page) -> int:
    """The rebalances that the bars over time add up to."""
    total: int = page.evaluate(
        """() => echarts.getInstanceByDom(document.getElementById("chart-rebalances")).getOption().series
          .flatMap(one => one.data).reduce((sum, [, count]) => sum + count, 0)"""
    )
    return total


def drawn_shades(page: Page, scheme: str) -> dict[str, str]:
    """Name -> the colour in which the pictures draw a kind of cause and what cost the time, as CSS says colours."""
    data = json.loads(page.locator("#data").inner_text())
    found = {}
    for name, shades in (*data["kinds"], *data["costs"]):
        parts = bytes.fromhex(shades[scheme == "dark"].removeprefix("#"))
        found[name] = f"rgb({', '.join(map(str, parts))})"
    return found


def first_cells(page: Page, table: str = "#group-table") -> list[str]:
    """The first column of a table."""
    return page.locator(f"{table} tbody tr td:first-child").all_inner_texts()
