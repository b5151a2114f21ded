"""The suites of `schemas/suites` as a site reads and loads them: see docs/checks.md."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.checks import single_checks, words
from rebalance_audit.tables.schemas import table_schemas
from tests.quality.judged import Judged
from tests.quality.plain_context import SUITES


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
