"""The views of `schemas/views` in a catalog. Tables in a folder have no names, so there are no views over them."""

from dataclasses import dataclass, field

from pyspark.errors import PySparkException

from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.views import views


@dataclass(slots=True)
class CatalogViews:
    """Which views a catalog has now."""

    names: list[str] = field(default_factory=list)
    """As SQL calls them."""
    refused: str | None = None
    """Why the catalog refused the others: many support tables only."""


def make_catalog_views(lake: Lake) -> CatalogViews:
    """Create or replace the views whose tables exist. A missing view is no failure: nothing depends on it."""
    done = CatalogViews()
    if lake.is_folder:
        return done
    try:
        for view in views():
            if all(lake.version(name) is not None for name in view.tables):
                made = lake.make_view(view)
                done.names += [] if made is None else [made]
    except PySparkException as error:
        done.refused = str(error).partition("\n")[0]
    return done
