"""Texts of a log for pages in HTML: group ids, topics and client ids are chosen by whoever may join a group."""

from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StringType

from rebalance_audit.visible import NAME_MAX

Frame: TypeAlias = DataFrame
"""The type for modules that pass a frame on without knowing the engine."""
HTML_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
"""Character -> its HTML entity; the ampersand comes first, since entities contain it."""
UNSEEN: Final = r"[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]"
"""Controls, and characters that leave nothing on a screen or change the direction of what follows."""
DIGEST_DIGITS: Final = 16


def shown_text(frame: Frame) -> Frame:
    """The frame with its texts cut to a length that a page can show, without controls, and escaped for HTML.

    Texts that differ still do: one that was changed ends with a digest of it.
    """
    texts = [field.name for field in frame.schema.fields if field.dataType == StringType()]
    return frame.withColumns({name: _shown(F.col(name)) for name in texts})


def _shown(text: Column) -> Column:
    seen = F.regexp_replace(F.substring(text, 1, NAME_MAX), UNSEEN, "\N{REPLACEMENT CHARACTER}")
    digest = F.substring(F.sha2(text, 256), 1, DIGEST_DIGITS)
    marked = F.when(seen == text, text).otherwise(F.concat(seen, F.lit(" … "), digest))
    for char, entity in HTML_ENTITIES.items():
        marked = F.replace(marked, F.lit(char), F.lit(entity))
    return marked
