"""How long work reports its steps."""

from collections.abc import Callable
from typing import TypeAlias

OnProgress: TypeAlias = Callable[[str], None]
"""Takes the name of the step that begins now."""


def no_progress(_: str) -> None:
    """Ignores progress."""
