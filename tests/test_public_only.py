"""The product calls public interfaces of its libraries alone."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PRODUCT: Final = (
    "src",
    "conf",
    "jobs",
    "airflow_dags",
    "scripts",
    "workshop/codegen",
    "workshop/dashboards",
    "workshop/pages",
)
TEXT: Final = (".py", ".conf", ".toml", ".properties", "")
"""How the names of files end that hold code or settings; scripts have no ending."""
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
LOGGERS: Final = "a logger, which has the name of its class: Log4j knows it by no other"
ALLOWED: Final[Mapping[str, str]] = {
    'scripts/pack-environment: --no-emit-package pyspark --no-emit-package py4j -o "$work/requirements.txt"': (
        "Spark brings both packages, so the packed environment leaves them out"
    ),
    "src/rebalance_audit/lake/storage/data_files.py: NAMES: Final ="
    ' ("numRecords", "minValues", "maxValues", "nullCount")': (
        "delta-rs' AddAction takes a file's statistics in the words of Delta's protocol"
    ),
    **{
        f"conf/spark/log4j2.properties: logger.{logger}.name = org.apache.{name}": LOGGERS
        for logger, name in (
            ("native", "hadoop.util.NativeCodeLoader"),
            ("strings", "spark.util.SparkStringUtils"),
            ("strings2", "spark.sql.catalyst.util.SparkStringUtils"),
            ("strings3", "spark.sql.catalyst.util.StringUtils"),
            ("rdd", "spark.rdd.MapPartitionsRDD"),
            ("window", "spark.sql.execution.window.WindowExec"),
            ("utils", "spark.util.Utils"),
        )
    },
}
"""Line -> why it is allowed. Add a line only for a reason that the library's maintainers would accept."""


def lines_of_product() -> Iterator[tuple[str, str]]:
    """Each line with the path of its file."""
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in TEXT or not path.is_file():
                continue
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
        "spark.plugin org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedFiles",
    ],
)
def test_what_was_there_once_is_recognised(line: str) -> None:
    """Lines of an earlier release."""
    assert any(re.search(pattern, line) for pattern in REFUSED)
