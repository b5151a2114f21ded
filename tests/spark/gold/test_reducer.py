"""The audit inside Spark against the audit in one process."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.audit.rows import GOLD_OF_GROUP
from rebalance_audit.lake.gold.group_memory import ReducerOptions
from rebalance_audit.lake.gold.outputs import GONE, output_columns, rebuilt_rows_of
from rebalance_audit.lake.gold.reducer import reduce_groups, with_commits
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.commit_packs import commit_packs
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.stage import Stage
from rebalance_audit.local.survey import survey
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.spark.in_process import gold_of, in_order, names_of, rows_of
from tests.support.log_entries import records_of
from tests.wire.golden import CAPTURE_NAMES, capture


def reducer_input(spark: SparkSession, name: str) -> DataFrame:
    """The group records and the offset commits of a capture."""
    records = parse_source(f"segments:{capture(name).segments}").records(spark, "c")
    of_groups = routing.group_records(routing.other_records(records), None)
    return with_commits(of_groups, commit_packs(records, None))


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_every_gold_table_equals_the_audit_in_one_process(
    spark: SparkSession, stage: Stage, name: str
) -> None:
    """Rows of all groups of a real log come out of the reducer as they come out of `audit_segments`."""
    names = names_of(capture(name).segments)
    log = [position.record_timestamp_ms for _, position in records_of(capture(name).segments)]
    counted, _ = survey(open_log_folder(capture(name).segments))
    whole = frozenset(number for number in counted.ends if counted.is_whole(number))
    holes = {number: end.holes for number, end in counted.ends.items()}
    options = ReducerOptions(names, log_end_ms=max(log), whole=whole, holes=holes)
    rows = reduce_groups(reducer_input(spark, name), options)
    staged = stage.put_tables(rows, output_columns(), GONE)
    expected = gold_of(capture(name).segments)
    for table in GOLD_OF_GROUP:
        found = in_order(f"gold.{table}", rows_of(rebuilt_rows_of(staged, table)))
        assert found == expected[table], table
    assert expected["epochs"]
