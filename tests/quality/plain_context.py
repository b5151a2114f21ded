"""A context of Great Expectations that knows the suites of `schemas/suites`, and nothing else of this package."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import great_expectations as gx
from great_expectations.core.expectation_validation_result import ExpectationSuiteValidationResult
from pyspark.sql import SparkSession

from rebalance_audit.resources import checkout_root

SUITES: Final = checkout_root() / "schemas" / "suites"


def validated(
    spark: SparkSession, lake: Path, table: str, key: Sequence[str]
) -> ExpectationSuiteValidationResult:
    """A table of a lake, validated by its suite as docs/checks.md shows; the result has the rows that break a rule."""
    for folder in lake.glob("*/*"):
        view = f"{folder.parent.name}_{folder.name}"
        spark.read.format("delta").load(str(folder)).createOrReplaceTempView(view)
    context = gx.get_context(mode="ephemeral")
    suite = context.suites.add(
        gx.ExpectationSuite(**json.loads((SUITES / f"{table}.json").read_text()))
    )
    source = context.data_sources.add_spark("lake")
    batch = source.add_dataframe_asset(table).add_batch_definition_whole_dataframe("all")
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name=table, data=batch, suite=suite)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return definition.run(
            batch_parameters={"dataframe": spark.table(table.replace(".", "_"))},
            result_format={
                "result_format": "COMPLETE",
                "unexpected_index_column_names": list(key),
            },
        )
