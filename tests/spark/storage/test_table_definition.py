"""Tables as they are made: the first commit of a log, beside the one that Delta's own statement makes."""

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rebalance_audit.lake.storage.table_definition import definition
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import table_schemas

NAMES = ("bronze.records", "silver.offset_commits", "gold.rebalance_causes", "meta.progress")
"""Append-only, clustered, with lists of structs, and with maps."""
OF_EACH = ("id", "createdTime")


def first_commit(folder: Path) -> dict[str, Any]:
    """The actions of a log's first commit but for what differs between any two tables."""
    lines = (folder / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    actions = {kind: action for line in lines for kind, action in json.loads(line).items()}
    info, metadata = actions.pop("commitInfo"), actions["metaData"]
    metadata["schemaString"] = json.loads(metadata["schemaString"])
    actions["protocol"].get("writerFeatures", []).sort()
    if domain := actions.get("domainMetadata"):
        domain["configuration"] = json.loads(domain["configuration"])
    parameters = info["operationParameters"]
    parameters["properties"] = json.loads(parameters["properties"])
    for name in OF_EACH:
        del metadata[name]
    return {**actions, "operation": info["operation"], "parameters": parameters}


def test_a_table_is_what_delta_would_have_made(spark: SparkSession, tmp_path: Path) -> None:
    """The same columns, comments, properties, clustering and features, also by what a site has set for new tables."""
    setting = "spark.databricks.delta.properties.defaults.logRetentionDuration"
    spark.conf.set(setting, "interval 9 days")
    try:
        Lake(spark, str(tmp_path / "ours")).create(NAMES)
        by_sql = Lake(spark, str(tmp_path / "sql"))
        for name in NAMES:
            spark.sql(definition(by_sql.sql_name(name), table_schemas()[name]))
    finally:
        spark.conf.unset(setting)
    for name in NAMES:
        folder = name.replace(".", "/")
        found = first_commit(tmp_path / "ours" / folder)
        assert found == first_commit(tmp_path / "sql" / folder), name
        configuration = found["metaData"]["configuration"]
        assert configuration["delta.logRetentionDuration"] == "interval 9 days"
