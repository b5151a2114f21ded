"""A secret on the command line."""

from pathlib import Path
from typing import Any

import click


class Secret(click.ParamType[str]):
    """A text, or `@FILE` for the first line of a file: other users see the command line."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text."""
        text = str(value)
        if not text.startswith("@"):
            return text
        try:
            return Path(text[1:]).read_text(encoding="utf-8").strip().partition("\n")[0]
        except OSError as error:
            self.fail(f"{text[1:]} cannot be read: {error.strerror}.", param, ctx)
