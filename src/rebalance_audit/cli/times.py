"""Moments as values of options, and those that a log does not reach."""

import sys
import time
from typing import Final

import click

from rebalance_audit.sentences import words

HELP: Final = "ISO 8601 (UTC without a zone), Unix time (seconds or milliseconds), or relative to now: -15m, -2h, -1d."


def clock_ms() -> int:
    """The time (epoch ms)."""
    return int(time.time() * 1000)


def now_for_people() -> int | None:
    """The time (epoch ms) for a person at a terminal, who sees how long ago things were; None elsewhere.

    What a file or a program gets does not depend on when it was made.
    """
    return clock_ms() if sys.stdout.isatty() else None


def require_within_log(option: str, asked_ms: int | None, end_ms: int | None) -> None:
    """Raises click.BadParameter for a moment after the end of the log; both epoch ms, None: not asked, not known."""
    if asked_ms is not None and end_ms is not None and asked_ms > end_ms:
        raise click.BadParameter(
            f"the log ends at {words.utc(end_ms)}, before {words.utc(asked_ms)}: what happened then is not in it.",
            param_hint=option,
        )
