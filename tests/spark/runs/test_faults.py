"""Tables that others have changed, removed or damaged: one more command, and the lake is that of one clean run."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.runs.run import IngestRequest, run_audit, run_ingest
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.tables.schemas import TableName
from tests.spark.faults import SEEN_IN_LOG
from tests.spark.lakes import CLUSTER, TABLES, Earlier, Whole, difference, request_of


@pytest.fixture
def lake(earlier: Earlier, tmp_path: Path) -> Iterator[Path]:
    """One after two runs over parts of the log, for one test alone."""
    yield shutil.copytree(earlier.lake, tmp_path / "lake")
    shutil.rmtree(tmp_path / "lake")


def folder_of(lake: Path, name: str) -> Path:
    """Where a table is."""
    return lake.joinpath(*name.split("."))


def differences(lake: Path, whole: Whole) -> dict[str, object]:
    """Tables that differ from those of the clean run."""
    found = {name: difference(name, lake, whole.lake) for name in TABLES}
    return {name: rows for name, rows in found.items() if rows}


FAULTS = {
    "meta.snapshots": ("dropped", "is not the table that the last run wrote"),
    "gold.group_states": ("dropped", "is not the table that the last run wrote"),
    "gold.epochs": ("restored", "was changed by another program (version "),
    "gold.group_hours": ("emptied", "was changed by another program (version "),
    "silver.group_records": ("log truncated", "has lost commits: "),
    "silver.quarantine": ("dropped", "is not the table that the last run wrote"),
    "bronze.records": ("log truncated", "has lost commits: "),
}
"""Table -> what is done to it, and what the run says of that."""


def test_runs_notice_what_others_did(spark: SparkSession, whole: Whole, lake: Path) -> None:
    """A run over what is new makes everything again, and says why."""
    for name, (fault, _) in FAULTS.items():
        SEEN_IN_LOG[fault](spark, folder_of(lake, name))
    report = run_audit(spark, request_of(f"segments:{whole.log}", lake))
    assert differences(lake, whole) == {}
    assert not report.resumed
    for name, (_, expected) in FAULTS.items():
        assert [note for note in report.notes if note.startswith(f"{name} {expected}")]


def test_lost_commits_are_noticed_after_others_took_their_numbers(
    spark: SparkSession, whole: Whole, lake: Path
) -> None:
    """An ingest that ended between its append and its ledger has brought bronze back to the version that this names."""
    SEEN_IN_LOG["log truncated"](spark, folder_of(lake, TableName.RECORDS))
    ledger = folder_of(lake, TableName.INGESTED)
    as_it_was = shutil.copytree(ledger, lake / "as it was")
    request = IngestRequest(parse_source(f"segments:{whole.log}"), str(lake), CLUSTER)
    run_ingest(spark, request)
    shutil.rmtree(ledger)
    as_it_was.rename(ledger)
    run_ingest(spark, request)
    assert difference(TableName.RECORDS, lake, whole.lake) == []
