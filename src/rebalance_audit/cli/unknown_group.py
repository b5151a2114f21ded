"""A group that the user asked for and the log does not have."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Final

import click

_NAMED: Final = 10


def require_known(wanted: Iterable[str], known: Collection[str], hint: str = "--group") -> None:
    """Raises click.BadParameter for the first unknown group, with what was probably meant or what there is."""
    for group_id in wanted:
        if group_id not in known:
            raise click.BadParameter(_sentence(group_id, known), param_hint=hint)


def _sentence(group_id: str, known: Collection[str]) -> str:
    if not known:
        return f"no group {group_id!r}: the log has no groups at all."
    if near := get_close_matches(group_id, known, n=3):
        return f"no group {group_id!r} in this log; did you mean {' or '.join(map(repr, near))}?"
    some = sorted(known)[:_NAMED]
    more = f" and {len(known) - len(some):,} more" if len(known) > len(some) else ""
    return f"no group {group_id!r} in this log, which has {', '.join(map(repr, some))}{more}."
