"""Texts of users in an SQL expression.

An expression in one text is one call to Java; as pyspark's columns it is a call or more for each of its parts.
"""

import re
from typing import Final

PLAIN: Final = re.compile(r"[\w.:/@ -]*", re.ASCII)


def text_literal(text: str) -> str:
    """An expression of Spark's for a text. Nothing of it can be taken for a quote, an escape or a variable."""
    if PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def standard_literal(text: str) -> str:
    """A literal of standard SQL, as delta-rs reads it: a quote is written twice, and nothing is an escape."""
    return "'" + text.replace("'", "''") + "'"


def quoted_comment(text: str) -> str:
    """A text where a statement of Spark's takes a literal alone, as for a comment."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
