"""Exit codes: one table from kinds of error to codes.

Error types are named by their path, so that looking one up imports nothing: `decode` must not load Spark to learn that
a lake error is a 3.
"""

from typing import Final

DONE: Final = 0
UNEXPECTED: Final = 1
BAD_ARGUMENTS: Final = 2
NOT_READABLE: Final = 3
"""The source or the lake cannot be read or written."""
CHECK_FAILED: Final = 4
INTERRUPTED: Final = 130
"""128 + SIGINT, as a shell reports it."""
PIPE_CLOSED: Final = 141
"""128 + SIGPIPE: whoever read our output has seen enough."""

CODE_BY_ERROR: Final = {
    "click.exceptions.UsageError": BAD_ARGUMENTS,
    "builtins.OSError": NOT_READABLE,
    "rebalance_audit.config.ConfigError": BAD_ARGUMENTS,
    "rebalance_audit.errors.BadRequest": BAD_ARGUMENTS,
    "rebalance_audit.errors.MissingExtra": BAD_ARGUMENTS,
    "rebalance_audit.errors.MissingJava": BAD_ARGUMENTS,
    "rebalance_audit.errors.LakeError": NOT_READABLE,
    "rebalance_audit.wire.segments.folder.SourceNotReadable": NOT_READABLE,
}
"""Path of an exception class -> exit code; a subclass answers as its nearest listed ancestor."""

SENTENCES: Final = frozenset(
    {
        "rebalance_audit.errors.JarsNotFetched",
        "rebalance_audit.errors.NotDelivered",
        "rebalance_audit.errors.SparkEnded",
    }
)
"""Unexpected errors with a message for people; a traceback would not help."""


def has_full_message(error: BaseException) -> bool:
    """Whether the message of an unexpected error is complete without its traceback."""
    return f"{type(error).__module__}.{type(error).__qualname__}" in SENTENCES


def code_of(error: BaseException) -> int:
    """Exit code for an error that ended a command; UNEXPECTED for one that is not listed."""
    for ancestor in type(error).__mro__:
        code = CODE_BY_ERROR.get(f"{ancestor.__module__}.{ancestor.__qualname__}")
        if code is not None:
            return code
    return UNEXPECTED
