"""Texts of users in an SQL expression.

An expression in one text is one call to Java; as pyspark's columns it is a call or more for each of its parts.
"""

import re
from typing import Final

PLAIN: Final = re.compile(r"[\w.:/@ -]*", re.ASCII)


def text_literal(text: str) -> str:
    """An expression for a text. Nothing of it can be taken for a quote, an escape or one of Spark's variables."""
    if PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def quoted_comment(text: str) -> str:
    """The same where a statement takes a literal alone, as for a comment."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
