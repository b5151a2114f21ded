"""The machine's browser, which tests and pictures of the page are made with."""

import shutil
from typing import Final

NAMES: Final = ("chromium-headless-shell", "chromium", "google-chrome", "chrome")
"""Programs that will do, the cheapest first; Debian has a package for each of the first two."""


class NoBrowserError(Exception):
    """None of them is on the path."""

    def __init__(self) -> None:
        super().__init__("Chromium or Chrome is needed for the page; install it (package chromium)")


def chromium() -> str:
    """The program's path. Raises NoBrowserError."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise NoBrowserError
    return found
