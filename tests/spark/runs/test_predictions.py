"""gold.what_if: answers replace earlier ones about the same group and window, and nothing else."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rebalance_audit.lake.runs.answers import write_predictions
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.whatif.answer import evaluate
from rebalance_audit.whatif.answer_forms import answer_table_rows, refused_row
from rebalance_audit.whatif.variant import Variant
from tests.spark.in_process import in_order
from tests.spark.in_process import rows_of as rows_in
from tests.whatif.test_answer import DEPLOY

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def stored(lake: Lake, cluster: str = "blue") -> list[dict[str, Any]]:
    """The table's rows of a cluster, in order of the key."""
    return in_order(
        "gold.what_if", rows_in(lake.read("gold.what_if").where(f"cluster = '{cluster}'"))
    )


def test_an_answer_replaces_the_one_about_the_same_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its rows as they are, what it no longer has removed, other windows, groups and clusters untouched."""
    lake = Lake(spark, str(tmp_path / "lake"))
    refused = refused_row("manual", "Nothing rebalances.", None, None)
    both = evaluate(DEPLOY, [Variant(is_static=True), Variant("consumer")], seeds=1, ranked=True)
    rows = [*answer_table_rows(both), refused]
    assert write_predictions(lake, "green", rows, NOW).inserted == 5
    assert write_predictions(lake, "blue", rows, NOW).inserted == 5
    assert stored(lake) == in_order("gold.what_if", rows)
    version = lake.version("gold.what_if")
    assert write_predictions(lake, "blue", rows, NOW).rows == 0
    assert lake.version("gold.what_if") == version

    one = [*answer_table_rows(evaluate(DEPLOY, [Variant("consumer")], seeds=2, ranked=True))]
    later = [{**row, "from_at": row["from_at"] + 1} for row in one]
    done = write_predictions(lake, "blue", [*one, *later], NOW)
    assert (done.inserted, done.deleted) == (3, 1)
    assert stored(lake) == in_order("gold.what_if", [*one, *later, refused])
    assert stored(lake, "green") == in_order("gold.what_if", rows)
