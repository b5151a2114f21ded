"""How long work reports its steps."""

from collections.abc import Callable
from typing import TypeAlias

Tell: TypeAlias = Callable[[str], None]
"""Takes the name of the step that begins now."""


def untold(_: str) -> None:
    """For nobody."""
