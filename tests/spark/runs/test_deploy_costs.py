"""gold.deploys: rows about a rollout replace those of an earlier run about it, and nothing else."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rebalance_audit.audit.deploys.deploy_rows import deploy_rows
from rebalance_audit.lake.runs.answers import write_deploy_costs
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.local.given_files import read_deploys
from rebalance_audit.readers.gold import stored_deploys
from tests.cli.audited import audited_once
from tests.cli.call import segments
from tests.spark.in_process import in_order

NOW = datetime(2026, 11, 28, tzinfo=UTC)
FILE = Path(__file__).parents[2] / "golden" / "deploys" / "fleet.csv"


def test_rows_about_a_rollout_replace_earlier_ones(spark: SparkSession, tmp_path: Path) -> None:
    """What no longer belongs to it is removed; other rollouts and clusters are untouched."""
    lake = Lake(spark, str(tmp_path / "lake"))
    tables, deploys = audited_once(segments("consumer-static")).tables, read_deploys([FILE]).deploys
    rows = deploy_rows(tables, deploys)

    def stored(cluster: str = "blue") -> list[dict[str, Any]]:
        found = stored_deploys(lake.path, cluster) or []
        return [{name: row[name] for name in row if name != "cluster"} for row in found]

    for cluster in ("blue", "green"):
        assert write_deploy_costs(lake, cluster, deploys, rows, NOW).inserted == len(rows)
    assert stored() == in_order("gold.deploys", rows)
    assert write_deploy_costs(lake, "blue", deploys, rows, NOW).rows == 0

    # Now the file says that the late restart was about another group.
    late = [replace(each, group_pattern="other") for each in deploys if each.revision == "late"]
    left = [row for row in rows if row["revision"] != "late"]
    assert not deploy_rows(tables, late)
    assert write_deploy_costs(lake, "blue", late, [], NOW).deleted == len(rows) - len(left)
    assert stored() == in_order("gold.deploys", left)
    assert stored("green") == in_order("gold.deploys", rows)
