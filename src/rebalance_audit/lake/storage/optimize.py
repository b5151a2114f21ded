"""OPTIMIZE: fewer and larger files with the same rows, in an order by columns if the table is not clustered already."""

from collections.abc import Sequence

from pyspark.sql import Row, SparkSession


def optimize(spark: SparkSession, sql_name: str, order: Sequence[str]) -> Row:
    """Optimize a table; returns Delta's metrics, such as `numFilesAdded`."""
    clustered_by = spark.sql(f"DESCRIBE DETAIL {sql_name}").select("clusteringColumns").first()
    is_clustered = clustered_by is not None and bool(clustered_by[0])
    by = f" ZORDER BY ({', '.join(order)})" if order and not is_clustered else ""
    metrics = spark.sql(f"OPTIMIZE {sql_name}{by}").select("metrics.*").first()
    assert metrics is not None
    return metrics
