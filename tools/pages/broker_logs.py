"""The tables of docs/broker-logs.md, from the tables of wordings and reasons themselves."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rebalance_audit.audit.broker_log.fact import MEANINGS
from rebalance_audit.audit.broker_log.reasons import (
    FENCE_REASONS,
    OWN_LEAVE_REASONS,
    REJOIN_REASONS,
)
from rebalance_audit.audit.broker_log.wordings import PLAIN, SCOPED, Wording
from rebalance_audit.resources import checkout_root
from tools import generated_files

PAGE: Final = "docs/broker-logs.md"
BEGIN: Final = "<!-- wordings:begin -->\n"
END: Final = "<!-- wordings:end -->\n"


def with_tables(text: str) -> str:
    """The page with fresh tables between its marks."""
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}{tables()}{END}{tail}"


def tables() -> str:
    """Facts with their wordings, then reasons with their causes."""
    reasons = [
        *((f"{words} …", cause.value) for words, cause in REJOIN_REASONS.items()),
        *((f"{words} …", cause.value) for words, cause in FENCE_REASONS.items()),
        *((words, "member_left") for words in OWN_LEAVE_REASONS),
    ]
    return "\n".join(
        [
            "",
            *_table(("fact", "what it says"), ((kind.value, MEANINGS[kind]) for kind in MEANINGS)),
            "",
            "Lines that name their group:",
            "",
            *_table(("releases", "wording", "fact"), _rows(PLAIN)),
            "",
            "Lines after `[GroupId g]`, `[Group g]` or `[GroupId=g]`:",
            "",
            *_table(("releases", "wording", "fact"), _rows(SCOPED)),
            "",
            "Reasons that name a cause:",
            "",
            *_table(("reason", "cause"), ((f"`{words}`", cause) for words, cause in reasons)),
            "",
            "",
        ]
    )


def _rows(wordings: Sequence[Wording]) -> Iterable[tuple[str, ...]]:
    for wording in wordings:
        pattern = wording.pattern.replace("`", "'").replace("|", "\\|")
        yield wording.releases, f"`{pattern}`", wording.kind.value


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def due() -> dict[Path, str]:
    """The page in its place."""
    path = checkout_root() / PAGE
    return {path: with_tables(path.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
