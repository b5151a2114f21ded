"""Where the tables of a lake are: under one folder, or in a catalog."""

from pyspark.sql import SparkSession

from rebalance_audit.lake.storage.catalog import Catalog
from rebalance_audit.lake.storage.folder import Folder
from rebalance_audit.lake.storage.table_location import Location
from rebalance_audit.location import is_catalog, parse_catalog


def location_of(spark: SparkSession, lake: str) -> Location:
    """The location that a lake's name or path stands for. Raises BadRequest."""
    if not is_catalog(lake):
        return Folder(spark, lake)
    catalog, prefix = parse_catalog(lake)
    return Catalog(spark, catalog, prefix)
