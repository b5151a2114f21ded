"""Moments that a user asks about and the log does not reach."""

import click

from rebalance_audit.sentences import words


def require_within_log(option: str, asked_ms: int | None, end_ms: int | None) -> None:
    """Raises click.BadParameter for a moment after the end of the log; both epoch ms, None: not asked, not known."""
    if asked_ms is not None and end_ms is not None and asked_ms > end_ms:
        raise click.BadParameter(
            f"the log ends at {words.utc(end_ms)}, before {words.utc(asked_ms)}: what happened then is not in it.",
            param_hint=option,
        )
