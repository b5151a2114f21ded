"""What a location names: a path of this machine, other storage, a lake in a catalog."""

from pathlib import Path

import pytest

from rebalance_audit.errors import BadRequest, LakeNotReadable
from rebalance_audit.lake.runs.request import RunRequest, check_request
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.location import (
    absolute,
    catalog_settings,
    is_catalog,
    local_path,
    parse_catalog,
)
from rebalance_audit.readers.tables import open_table
from tests.wire.golden import capture


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("lake", Path("lake")),
        ("/data/lake", Path("/data/lake")),
        ("file:///data/lake", Path("/data/lake")),
        ("file:/data/lake", Path("/data/lake")),
        ("file://localhost/data/lake", Path("/data/lake")),
        ("file:///data/100%25 #1", Path("/data/100%25 #1")),
        ("C:/lake", Path("C:/lake")),
        ("s3a://bucket/lake", None),
        ("hdfs://name/lake", None),
    ],
)
def test_a_path_of_this_machine_or_none(location: str, path: Path | None) -> None:
    """A location with a scheme other than file is not on this machine."""
    assert local_path(location) == path


def test_only_a_path_of_this_machine_becomes_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run log of a lake names it by its absolute path; a URL is unchanged."""
    monkeypatch.chdir(tmp_path)
    assert absolute("lake") == str(tmp_path / "lake")
    assert absolute("s3a://bucket/lake") == "s3a://bucket/lake"


@pytest.mark.parametrize(
    ("lake", "parts"),
    [
        ("catalog:main", ("main", "")),
        ("catalog:spark_catalog.audit", ("spark_catalog", "audit")),
    ],
)
def test_a_catalog_with_or_without_a_prefix(lake: str, parts: tuple[str, str]) -> None:
    """The catalog comes first, what its schemas' names begin with second."""
    assert is_catalog(lake)
    assert parse_catalog(lake) == parts


@pytest.mark.parametrize(
    "lake", ["catalog:", "catalog:.audit", "catalog:main.", "catalog:a.b.c", "catalog:a`b"]
)
def test_what_names_no_catalog_is_refused_before_spark_starts(lake: str, tmp_path: Path) -> None:
    """One sentence says what to write instead."""
    source = parse_source(f"segments:{capture('offsets').segments}")
    with pytest.raises(BadRequest, match="write catalog:CATALOG"):
        check_request(RunRequest(source, lake, "blue"))


def test_the_session_catalog_is_made_to_outlive_the_session() -> None:
    """Spark alone would keep the tables' names in memory; other catalogs and folders need nothing."""
    assert catalog_settings("catalog:spark_catalog.a") == {
        "spark.sql.catalogImplementation": "hive"
    }
    assert catalog_settings("catalog:main.a") == catalog_settings("lake") == {}


def test_readers_without_spark_say_what_they_need() -> None:
    """A catalog can be asked by Spark alone, so the folder of its tables is wanted."""
    with pytest.raises(LakeNotReadable, match="give the folder or URL"):
        open_table("catalog:main.audit", "gold.epochs")
