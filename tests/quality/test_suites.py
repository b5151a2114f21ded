"""The suites of `schemas/suites` in a plain context of Great Expectations, as a site loads them: see docs/checks.md."""

import json
import warnings
from pathlib import Path
from typing import Any

import great_expectations as gx
import pytest
from great_expectations.core.expectation_validation_result import ExpectationSuiteValidationResult
from pyspark.sql import SparkSession

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.checks import single_checks, words
from rebalance_audit.tables.schemas import table_schemas
from tests.quality.judged import Judged

SUITES = checkout_root() / "schemas" / "suites"
TABLES = ("gold.rebalance_causes", "gold.ownership")
"""Both have keys, sets, ranges and relations; together with neighbours and other tables."""


def validated(spark: SparkSession, lake: Path, table: str) -> ExpectationSuiteValidationResult:
    """A table of a lake, validated by its suite as the page shows."""
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
    frame = spark.table(table.replace(".", "_"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return definition.run(batch_parameters={"dataframe": frame})


@pytest.mark.parametrize("table", TABLES)
def test_the_library_finds_what_check_finds(
    spark: SparkSession, judged: Judged, table: str
) -> None:
    """Its own expectations, over planted wrongs: the same rules are broken, by as many rows."""
    found = {}
    for result in validated(spark, judged.lake, table).results:
        config = result.expectation_config
        assert config is not None
        details = result.result
        count = details.get("unexpected_count", details.get("observed_value"))
        name = config.meta["name"]
        if " type(" in name:
            assert result.success, name
        else:
            assert isinstance(count, int), (name, result.exception_info)
            found[name] = count
    expected = {
        result.expectation: result.unexpected_count
        for result in judged.report.results
        if result.table == table and result.kind != "ordered"
    }
    assert {name: count for name, count in found.items() if name in expected} == expected
    pairs = [name for name in found if name not in expected]
    assert all(" ordered(" in name and found[name] > 0 for name in pairs)


def test_a_suite_says_every_rule_of_the_catalogue() -> None:
    """In the words of docs/tables.md, and by the name that `check` prints; types of all columns as well."""
    for name, schema in table_schemas().items():
        suite = json.loads((SUITES / f"{name}.json").read_text())
        said = {one["meta"]["name"]: one["description"] for one in suite["expectations"]}
        assert len(said) == len(suite["expectations"])
        for check in single_checks(schema.checks):
            if check.kind == "fresh":
                assert any(words(check) in note for note in suite["notes"])
            elif check.kind != "ordered" or len(check.columns) == len(("earlier", "later")):
                assert said[check.name_in(name)] == words(check)
        for column in schema.columns:
            assert f"{name} type({column.name})" in said


def test_the_example_of_the_page_runs(
    spark: SparkSession, judged: Judged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the folder of a lake that a run has written: every rule holds."""
    (tmp_path / "schemas").symlink_to(checkout_root() / "schemas")
    monkeypatch.chdir(tmp_path)
    page = (checkout_root() / "docs" / "checks.md").read_text()
    example = (
        page.partition("```python\n")[2]
        .partition("```")[0]
        .replace('f"lake/', f'f"{judged.lake.parent}/made/')
    )
    names: dict[str, Any] = {"spark": spark}
    exec(example, names)  # noqa: S102 - the page's own code
    result = names["result"]
    assert result.success, result
