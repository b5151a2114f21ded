"""Lakes that are a catalog's, by name.

`--lake DIR` (or a URL: `s3a://…`) has each table at `DIR/<layer>/<name>`. `--lake catalog:CATALOG` has it as
`CATALOG.<layer>.<name>`, `--lake catalog:CATALOG.PREFIX` as `CATALOG.PREFIX_<layer>.<name>`. Imports no Spark.
"""

from collections.abc import Mapping
from typing import Final

from rebalance_audit.errors import BadRequest

CATALOG: Final = "catalog:"
SESSION_CATALOG: Final = "spark_catalog"
"""Spark's own catalog: a Hive metastore, or, unless it is told of one, nothing that outlives the session."""


def is_catalog(lake: str) -> bool:
    """Whether a lake is one of a catalog's."""
    return lake.startswith(CATALOG)


def parse_catalog(lake: str) -> tuple[str, str]:
    """Catalog and prefix of `catalog:CATALOG[.PREFIX]`, the prefix empty where there is none. Raises BadRequest."""
    catalog, dot, prefix = lake.removeprefix(CATALOG).partition(".")
    if not catalog or (dot and not prefix) or "." in prefix or "`" in lake:
        raise BadRequest(
            f"{lake!r} names no catalog: write catalog:CATALOG, for tables as CATALOG.gold.epochs, or"
            " catalog:CATALOG.PREFIX, for tables as CATALOG.PREFIX_gold.epochs."
        )
    return catalog, prefix


def catalog_settings(lake: str) -> Mapping[str, str]:
    """What the session must be started with so that the lake's catalog outlives it."""
    if is_catalog(lake) and parse_catalog(lake)[0] == SESSION_CATALOG:
        # Else Spark keeps the names of tables in memory, and they are gone when it ends.
        return {"spark.sql.catalogImplementation": "hive"}
    return {}
