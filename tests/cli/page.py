"""A page that `report` wrote, as a browser parses it."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


class Page(HTMLParser):
    """A page as a browser parses it."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.source = path.read_text(encoding="utf-8")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(self.source)
        self.close()
        self.sections: list[dict[str, Any]] = []
        if self.scripts:
            self.sections = [_unpacked(packed) for packed in json.loads(self.scripts[2])]
        for section in self.sections:
            self.reset()
            self.feed(section["html"])
            self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag, and that its text follows."""
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        """Sort the text by its position."""
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser's signature
        """What follows belongs to the surrounding element."""
        self._inside = ""

    @property
    def text(self) -> str:
        """The text to read, with blanks as a browser shows them."""
        return " ".join(" ".join(self.texts).split())

    @property
    def lanes(self) -> dict[str, Any]:
        """The data of the picture of all groups."""
        return _unpacked(json.loads(self.scripts[1]))

    @property
    def data(self) -> dict[str, Any]:
        """The data of the charts and the search."""
        found: dict[str, Any] = json.loads(self.scripts[0])
        return found

    def headings(self) -> list[str]:
        """Texts of the sections' headings."""
        return re.findall(r"<h2[^>]*>([^<]+)</h2>", self.source)


def _unpacked(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(text)))
    return found
