"""The product calls public interfaces of its libraries alone."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PRODUCT: Final = ("src", "jobs", "airflow_dags", "scripts", "tools")
REFUSED: Final[Mapping[str, str]] = {
    r"\b_(jvm|jsparkSession|jsc|jdf|jreader|jwriter|jseq|gateway|sc)\b": "pyspark's way into its JVM",
    r"\bpy4j\b": "what pyspark talks to its JVM with",
    r"\bsparkContext\b|\bSparkContext\b": "Spark Connect has none",
    r"\._(stackTrace|accumulatorServer)\b": "pyspark's own",
    r"\b_crecords\b": "aiokafka's compiled modules",
    # Of Delta, the one that its manual has users name in Spark's settings.
    r"\borg\.apache\.(spark|hadoop)\.(?!sql\.delta\.catalog\.DeltaCatalog)[\w.]*\.[A-Z]\w*": "inner classes",
    r"\bsetAccessible\b|\bgetDeclared(Field|Method)\b|\bforName\(\s*[\"']": "reflection",
    r"\bdeltalake\._internal\b|\b_table\._|\bcreate_table_with_add_actions\b": "delta-rs' own",
    r"\bAddFile\b|[\"']add[\"']\s*:\s*\{|[\"']commitInfo[\"']|[\"']metaData[\"']": "lines of Delta's log",
    r"[\"'](numRecords|minValues|maxValues|nullCount)[\"']": "statistics of files",
    r"\b__class__\s*=(?!=)": "objects that change their class",
    r"\bpyspark\.daemon\b|\bspark\.python\.daemon\b": "pyspark's own processes",
}
"""What is refused, and whose it is."""
ALLOWED: Final[Mapping[str, str]] = {}
"""Line -> why it has to be. Nothing else may be added without a reason that a library's maintainers would accept."""


def lines_of_product() -> Iterator[tuple[str, str]]:
    """Each line with the path of its file."""
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line in path.read_text().splitlines():
                yield str(path.relative_to(ROOT)), line.strip()


@pytest.mark.parametrize("pattern", REFUSED)
def test_nothing_private_is_called(pattern: str) -> None:
    """A release of a library may change what it keeps to itself, and another platform need not have it."""
    found = [
        f"{path}: {line}"
        for path, line in lines_of_product()
        if re.search(pattern, line) and f"{path}: {line}" not in ALLOWED
    ]
    assert not found, f"{REFUSED[pattern]}: {found}"


def test_each_exception_is_there() -> None:
    """One that is no longer needed goes."""
    lines = {f"{path}: {line}" for path, line in lines_of_product()}
    assert set(ALLOWED) <= lines


@pytest.mark.parametrize(
    "line",
    [
        "jvm = spark.sparkContext._jvm",
        "rows._jdf.queryExecution()",
        "from py4j.protocol import Py4JJavaError",
        "from aiokafka.record._crecords import DefaultRecordBatch",
        'DELTA_LOG = "org.apache.spark.sql.delta.DeltaLog"',
        "origins.setAccessible(True)",
        'add = {"add": {"path": name}}',
        'stats = {"numRecords": rows}',
    ],
)
def test_what_was_there_once_is_recognised(line: str) -> None:
    """Lines of an earlier release."""
    assert any(re.search(pattern, line) for pattern in REFUSED)
