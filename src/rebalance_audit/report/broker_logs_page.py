"""The tables of docs/broker-logs.md, from the tables of wordings and reasons themselves."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

from rebalance_audit.audit.broker_log.fact import MEANINGS
from rebalance_audit.audit.broker_log.reasons import (
    FENCE_REASONS,
    OWN_LEAVE_REASONS,
    REJOIN_REASONS,
)
from rebalance_audit.audit.broker_log.wordings import PLAIN, SCOPED, Wording
from rebalance_audit.resources import checkout_root

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
            "Lines behind `[GroupId g]`, `[Group g]` or `[GroupId=g]`:",
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


def main(arguments: list[str]) -> int:
    """Write the tables (`--write`), or check that they are fresh (`--check`: 1 when they are not)."""
    path = checkout_root() / PAGE
    if arguments not in (["--write"], ["--check"]):
        sys.stderr.write(
            "usage: python -m rebalance_audit.report.broker_logs_page --write|--check\n"
        )
        return 2
    text = path.read_text(encoding="utf-8")
    fresh = with_tables(text)
    if arguments == ["--write"]:
        path.write_text(fresh, encoding="utf-8")
    elif text != fresh:
        sys.stderr.write(f"{PAGE} is not what the table of wordings says: run `make codegen`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
