"""docs/spark-releases.md: the jars of each Spark release, from conf/jars/ivy.xml, and where the smoke suite has run."""

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

from rebalance_audit.resources import checkout_root
from rebalance_audit.spark_release import spark_releases
from workshop import generated_files

PAGE: Final = "docs/spark-releases.md"
RESULTS: Final = "docs/platform-results.json"
_PYSPARK: Final = re.compile(r"^pyspark==([0-9]+\.[0-9]+)", re.MULTILINE)
INTRODUCTION: Final = """\
# Spark releases

Generated from `conf/jars/ivy.xml` and `docs/platform-results.json` by `make codegen`. `rebalance-audit jars` fetches
the jars for the Spark that is installed; `spark.jars.packages` takes the same coordinates.

| Spark | Scala | Delta Lake | Kafka source |
|---|---|---|---|
"""
SUITE: Final = """
## Where it was run

`make test-platforms` runs the same commands on the same log on each of these platforms: `ingest` and `run` over the
first half of a log, `run` over all of it, `check`, and `inspect` of the lake. Its tables must equal those of the
reference, the newest pair, row for row. It runs by hand and once a week, not with `make test`, which tests Spark
{tested}. This is the last result; each row describes its platform as it was on that date:

| platform | Spark | Delta Lake | Python | pyarrow, pandas | date | result |
|---|---|---|---|---|---|---|
"""


def page(results: dict[str, dict[str, Any]], tested: str) -> str:
    """The page as Markdown; `tested` is the release of Spark in requirements.txt."""
    releases = [
        f"| {each.spark} | {each.scala} | `{each.delta.coordinates}` | `{each.kafka_source.coordinates}` |"
        for each in spark_releases()
    ]
    return (
        INTRODUCTION
        + "\n".join(releases)
        + "\n"
        + SUITE.format(tested=tested)
        + "\n".join(map(_row, results.values()))
        + "\n"
    )


def _row(result: dict[str, Any]) -> str:
    packages = result.get("packages", {})
    delta = result.get("delta", "").rpartition(":")[2]
    outcome = "passed" if result["passed"] else "**failed**"
    cells = (
        result["what"],
        packages.get("pyspark", result["spark"]),
        delta,
        result.get("python", ""),
        ", ".join(packages[name] for name in ("pyarrow", "pandas") if name in packages),
        result["date"],
        f"{outcome}: {result['why'].replace('|', '/')}",
    )
    return f"| {' | '.join(cells)} |"


def due() -> dict[Path, str]:
    """The page at its path."""
    root = checkout_root()
    locked = _PYSPARK.search((root / "requirements.txt").read_text())
    assert locked is not None, "requirements.txt has no pyspark"
    return {root / PAGE: page(json.loads((root / RESULTS).read_text()), locked[1])}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
