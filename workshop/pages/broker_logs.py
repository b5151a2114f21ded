"""The tables of docs/broker-logs.md, from the tables of wordings and reasons themselves."""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rebalance_audit.audit.broker_log.fact import MEANINGS
from rebalance_audit.audit.broker_log.reasons import (
    ADMIN_REASON,
    FENCE_REASONS,
    OWN_LEAVE_REASONS,
    REJOIN_REASONS,
    TRIGGERS,
)
from rebalance_audit.audit.broker_log.wordings import PLAIN, SCOPED
from rebalance_audit.resources import checkout_root
from workshop import generated_files

PAGE: Final = "docs/broker-logs.md"
BEGIN: Final = "<!-- wordings:begin -->\n"
END: Final = "<!-- wordings:end -->\n"


def with_tables(text: str) -> str:
    """The page with fresh tables between its marks."""
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}{tables()}{END}{tail}"


def tables() -> str:
    """Facts with the number of their wordings, then reasons with their causes."""
    reasons = [
        *((f"{words} …", cause.value) for words, cause in FENCE_REASONS.items()),
        *((f"{words} …", "member_left") for words in OWN_LEAVE_REASONS),
        (f"{ADMIN_REASON} …", "member_removed_by_admin"),
    ]
    rejoins = [
        (row.clients, f"`{row.words} …`", "none" if row.cause is None else row.cause.value)
        for row in REJOIN_REASONS
    ]
    return "\n".join(
        [
            "",
            *_table(("fact", "what it says", "wordings"), _facts()),
            "",
            f"{_silent_count()} more wordings are recognised and add nothing to the records.",
            "",
            "What clients say when they join again (KIP-800), in whatever case, and the cause that it names:",
            "",
            *_table(("clients", "reason", "cause"), rejoins),
            "",
            "Reasons of leaving and of being fenced that name a cause:",
            "",
            *_table(("reason", "cause"), ((f"`{words}`", cause) for words, cause in reasons)),
            "",
            (
                "What set a classic rebalance off, in the reason of `rebalance_prepared`; from 3.2 on some "
                "go on with the client's reason:"
            ),
            "",
            *_table(
                ("reason", "who, or what"),
                _triggers(),
            ),
            "",
            "",
        ]
    )


def _facts() -> Iterable[tuple[str, ...]]:
    times = Counter(wording.kind for wording in (*PLAIN, *SCOPED))
    return ((kind.value, MEANINGS[kind], str(times[kind])) for kind in MEANINGS)


def _triggers() -> Iterable[tuple[str, ...]]:
    return ((f"`{_shown(row.pattern)}`", row.role) for row in TRIGGERS)


def _silent_count() -> int:
    return sum(wording.kind is None for wording in (*PLAIN, *SCOPED))


def _shown(pattern: str) -> str:
    return pattern.replace("`", "'").replace("|", "\\|")


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
