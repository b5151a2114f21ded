"""What a location names: a path of this machine, a URL of other storage, or a lake in a catalog.

`--lake DIR` (or a URL: `s3a://…`) has each table at `DIR/<layer>/<name>`. `--lake catalog:CATALOG` has it as
`CATALOG.<layer>.<name>`, `--lake catalog:CATALOG.PREFIX` as `CATALOG.PREFIX_<layer>.<name>`. Imports no Spark.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rebalance_audit.errors import BadRequest

CATALOG: Final = "catalog:"
SESSION_CATALOG: Final = "spark_catalog"
"""Spark's own catalog: a Hive metastore if one is configured, otherwise nothing that outlives the session."""
_FILE: Final = "file:"
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
"""At least two characters: a single letter is a drive."""


def local_path(location: str) -> Path | None:
    """The path of a location on this machine; None for one on other storage, such as `s3a://bucket/lake`.

    Follows Hadoop's `Path`, as Spark does: what comes after `file:` is taken literally, `%20` and `#` are part of the
    name.
    """
    if location.startswith(_FILE):
        path = location.removeprefix(_FILE)
        if path.startswith("//"):
            # Between the second and the third slash is a host: none, or this one.
            path = "/" + path.removeprefix("//").partition("/")[2]
        return Path(path)
    return None if _SCHEME.match(location) else Path(location)


def spelled(source: str, spellings: str) -> str:
    """How to write what was meant by the name of a source without its kind; `spellings` where it is ambiguous."""
    is_path = bool(source) and ":" not in source and Path(source).exists()
    return f"segments:{source}" if is_path else spellings


def absolute(location: str) -> str:
    """A location on this machine as an absolute path; one on other storage (`s3a://…`) unchanged."""
    path = local_path(location)
    return location if path is None else str(path.absolute())


def is_catalog(lake: str) -> bool:
    """Whether the tables of a lake are in a catalog."""
    return lake.startswith(CATALOG)


def parse_catalog(lake: str) -> tuple[str, str]:
    """Catalog and prefix of `catalog:CATALOG[.PREFIX]`; the prefix is empty if there is none. Raises BadRequest."""
    catalog, dot, prefix = lake.removeprefix(CATALOG).partition(".")
    if not catalog or (dot and not prefix) or "." in prefix or "`" in lake:
        raise BadRequest(
            f"{lake!r} names no catalog: write catalog:CATALOG, for tables as CATALOG.gold.epochs, or"
            " catalog:CATALOG.PREFIX, for tables as CATALOG.PREFIX_gold.epochs."
        )
    return catalog, prefix


def catalog_settings(lake: str) -> Mapping[str, str]:
    """Spark settings by name that the session must start with so that the catalog of the lake outlives it."""
    if is_catalog(lake) and parse_catalog(lake)[0] == SESSION_CATALOG:
        # By default Spark keeps the names of tables in memory only, and loses them when it ends.
        return {"spark.sql.catalogImplementation": "hive"}
    return {}
