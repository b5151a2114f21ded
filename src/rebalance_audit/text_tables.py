"""Tables that are written as text in the source: lines for people to read and to change."""

import re
from typing import Final

_GOES_ON: Final = re.compile(r"\n {8,}")


def text_rows(table: str) -> list[str]:
    """The rows of a table; one goes on in lines that are indented by eight spaces or more."""
    return _GOES_ON.sub(" ", table.strip()).split("\n")


def texts_of(table: str) -> dict[str, str]:
    """Code -> text, of rows `code: text` and of comments; a second space after the colon belongs to the text."""
    texts: dict[str, str] = {}
    for row in text_rows(table):
        code, colon, text = row.partition(": ")
        if row.startswith("#"):
            continue
        if not colon or code in texts:
            raise ValueError(f"no text, or the second one of its code: {row}")
        texts[code] = text
    return texts
