"""What may go wrong with rows: `check` finds each wrong by its rule, and a plain context finds the same rows."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.tables.checks import single_checks
from rebalance_audit.tables.schemas import table_schemas
from tests.quality.judged import SOUND, Judged
from tests.quality.plain_context import validated
from tests.quality.wrongs import WRONGS, Wrong, cluster_of

TABLES: Final = sorted({wrong.breaks.partition(" ")[0] for wrong in WRONGS})


@pytest.fixture(scope="module")
def broken(judged: Judged) -> dict[str, set[str]]:
    """Cluster -> the rules that its rows break, but for those about age."""
    rules = defaultdict(set)
    for result in judged.report.broken:
        if result.kind != "fresh":
            for key in map(json.loads, result.sample_keys):
                rules[key.get("cluster", key.get("run_id"))].add(result.expectation)
    return rules


@pytest.mark.parametrize("wrong", WRONGS, ids=lambda wrong: wrong.name)
def test_each_wrong_breaks_its_rule(broken: dict[str, set[str]], wrong: Wrong) -> None:
    """`check` names the rule, and points at rows of the lake that has the wrong."""
    assert wrong.breaks in broken[cluster_of(wrong)]


def test_what_a_run_has_written_breaks_nothing(broken: dict[str, set[str]]) -> None:
    """Batches that could not be decoded are a warning of the run that met them."""
    assert {rule.partition(" ")[0] for rule in broken[SOUND]} <= {"meta.runs"}


@pytest.mark.parametrize("table", TABLES)
def test_a_plain_context_finds_the_same_rows(
    spark: SparkSession, judged: Judged, table: str
) -> None:
    """Great Expectations with nothing but the suite: the rows that break each rule are those that `check` names.

    The library gives no keys for pairs in order; of three columns it judges each pair.
    """
    schema = table_schemas()[table]
    results = {
        config.meta["name"]: result
        for result in validated(spark, judged.lake, table, schema.key).results
        if (config := result.expectation_config) is not None
    }
    by_check = {
        result.expectation: sorted(result.sample_keys)
        for result in judged.report.results
        if result.table == table and result.kind not in {"ordered", "fresh"}
    }
    assert {rule: _keys(schema.key, results[rule].result) for rule in by_check} == by_check
    counts = {result.expectation: result.unexpected_count for result in judged.report.results}
    for check in single_checks(schema.checks):
        if check.kind == "ordered":
            pairs = [
                results[replace(check, columns=pair).name_in(table)].result["unexpected_count"]
                for pair in combinations(check.columns, 2)
            ]
            assert max(pairs) <= (counts[check.name_in(table)] or 0) <= sum(pairs)
    types = [result for rule, result in results.items() if " type(" in rule]
    assert len(types) == len(schema.columns)
    assert all(result.success for result in types)
    assert not any(result.exception_info.get("raised_exception") for result in results.values())


def _keys(key: Sequence[str], found: Mapping[str, Any]) -> list[str]:
    """Keys of the rows that the library names, as `check` writes them."""
    if "observed_value" in found:
        rows = found["details"]["unexpected_rows"]
    else:
        rows = found.get("unexpected_index_list") or found["unexpected_list"]
    return sorted(_json({name: row[name] for name in key}) for row in rows)


def _json(row: Mapping[str, Any]) -> str:
    return json.dumps(row, default=_moment, ensure_ascii=False, separators=(",", ":"))


def _moment(value: Any) -> str:
    assert isinstance(value, datetime), value
    return f"{value.isoformat(timespec='milliseconds')}Z"
