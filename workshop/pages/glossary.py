"""docs/glossary.md: the words that the page explains too."""

import sys
from pathlib import Path
from typing import Final

from rebalance_audit.report.glossary import GLOSSARY, Entry
from rebalance_audit.resources import checkout_root
from workshop import generated_files

PAGE: Final = "docs/glossary.md"

_HEAD: Final = """\
# Glossary

The words of the tables, the reports and the code. Kafka's own words mean what they mean in Kafka. The page
that `report` writes has them at its end.

<!-- written by `python -m workshop.pages.glossary --write` -->

| word | meaning |
|---|---|
"""


def page() -> str:
    """The text of docs/glossary.md."""
    return _HEAD + "".join(map(_row, GLOSSARY))


def _row(entry: Entry) -> str:
    more = f" More: [{entry.more}]({entry.more})." if entry.more else ""
    return f"| {entry.word} | {entry.meaning}{more} |\n"


def due() -> dict[Path, str]:
    """The page in its place."""
    return {checkout_root() / PAGE: page()}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
