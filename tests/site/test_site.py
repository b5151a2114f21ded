"""The pages as a site: built without a warning, whole, and without anything from another host."""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
LOADS: Final = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser fetches by itself; a link that somebody follows may go anywhere."""
ELSEWHERE: Final = re.compile(r"(https?:)?//")


class Loads(HTMLParser):
    """Addresses that a page loads."""

    def __init__(self, page: Path) -> None:
        """Read a page."""
        super().__init__()
        self.found: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the address of what loads something."""
        given = dict(attrs)
        if tag == "link" and given.get("rel") in {"canonical", "next", "prev"}:
            return
        address = given.get(LOADS.get(tag, ""))
        if address:
            self.found.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; a link without a target, or a page that the menu leaves out, is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [ROOT / ".venv-docs" / "bin" / "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    """Each page of docs/, with styles and scripts from files beside it."""
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    built = {path.stem: path for path in site.glob("*.html")}
    assert pages <= set(built)
    for name in pages:
        loads = Loads(built[name]).found
        assert any(address.endswith(".css") for address in loads)
        for address in loads:
            assert not ELSEWHERE.match(address), (name, address)
            assert (site / address.partition("?")[0].partition("#")[0]).exists(), (name, address)
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style
