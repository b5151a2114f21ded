"""Which places are on this machine."""

from pathlib import Path

import pytest

from rebalance_audit.lake.local_path import local_path


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
def test_places_on_this_machine(location: str, path: Path | None) -> None:
    """What has a scheme other than file is not looked at here."""
    assert local_path(location) == path
