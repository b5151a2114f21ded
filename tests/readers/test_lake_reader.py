"""A lake from Python."""

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

import rebalance_audit as ra
from rebalance_audit.audit.rows import GOLD_OF_LOG
from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.arrow_types import arrow_schema
from tests.cli.call import call, segments
from tests.support.lake_without_spark import write_lake

LOG = segments("failover")


@pytest.fixture(scope="module")
def audit() -> ra.Audit:
    """A real log with three groups."""
    return ra.audit_segments(LOG, cluster="blue")


@pytest.fixture(scope="module")
def lake(audit: ra.Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gold tables of the log."""
    path = tmp_path_factory.mktemp("lake")
    write_lake(path, audit.tables, "blue")
    return path


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that the first release wrote with Spark, bronze and silver included."""
    path = tmp_path_factory.mktemp("earlier")
    with ZipFile(checkout_root() / "tests" / "golden" / "lakes" / "0.1.0.zip") as packed:
        packed.extractall(path)
    return path / "lake"


def test_a_lake_has_the_rows_of_the_audit(audit: ra.Audit, lake: Path) -> None:
    """In the same order and with the same types, as rows and as Arrow tables."""
    found = ra.open_lake(lake, "blue")
    for name in GOLD_OF_LOG:
        rows, expected = found.table(f"gold.{name}"), audit.table(f"gold.{name}")
        assert len(rows) == len(expected)
        assert [*rows] == [*expected], name
        assert rows.to_arrow() == expected.to_arrow(), name


def windows(audit: ra.Audit) -> Iterator[dict[str, object]]:
    """Limits of rows, each alone and together."""
    moment = audit.epochs[len(audit.epochs) // 2]["started_at"]
    yield {"groups": ["neu"]}
    yield {"start": moment}
    yield {"end": moment}
    yield {"groups": ["klassik", "missing"], "start": moment}


def test_limits_are_those_of_the_audit(audit: ra.Audit, lake: Path) -> None:
    """Groups and windows take the same rows."""
    for limits in windows(audit):
        found, expected = (
            rows.epochs.where(**limits)  # type: ignore[arg-type]
            for rows in (ra.open_lake(lake), audit)
        )
        assert 0 < len(found) < len(audit.epochs)
        assert [*found] == [*expected], limits


def test_rows_are_read_when_they_are_asked_for(audit: ra.Audit, lake: Path) -> None:
    """A notebook's first look counts them and shows some, in whatever order."""
    rows = ra.open_lake(lake).ownership
    assert repr(rows) == f"<{len(audit.ownership)} rows of gold.ownership>"
    assert rows._repr_html_().count("<tr>") == 21
    assert "_table" not in vars(rows)
    assert (rows[0], rows[-1]) == (audit.ownership[0], audit.ownership[-1])
    assert rows._repr_html_() == audit.ownership._repr_html_()


def test_any_table_of_an_earlier_release(earlier: Path) -> None:
    """With every column of today's contract; those that came later are null. Maps are dictionaries."""
    lake = ra.open_lake(earlier)
    for name in ("gold.epochs", "silver.offset_commits", "bronze.records", "meta.runs"):
        rows = lake.table(name)
        assert rows.to_arrow().schema == arrow_schema(rows.schema)
        assert len(rows) == len([*rows]) > 0
    run = lake.table("meta.runs")[0]
    assert run["run_number"] is None
    assert run["rows_written"]["gold.epochs"] == len(lake.epochs)
    with pytest.raises(ra.BadRequest, match=r"There is no table 'gold\.nothing'"):
        lake.table("gold.nothing")
    with pytest.raises(
        ra.LakeNotReadable, match=r"has no table gold\.findings: an earlier release"
    ):
        len(lake.findings)


def test_the_state_is_that_of_the_segments(earlier: Path) -> None:
    """At the end and at earlier moments, of all groups and of one."""
    lake = ra.open_lake(earlier, "golden")
    audit = ra.audit_segments(segments("consumer-static"))
    for at in (None, "2026-11-21T09:06:40Z", "2026-11-21T09:07:30Z", "2020-01-01"):
        assert lake.state(at) == audit.state(at), at
        assert lake.state(at).groups or at == "2020-01-01"
    assert lake.state(groups=["fleet"]).groups == audit.state(groups=["fleet"]).groups
    with pytest.raises(ra.UnknownGroup, match="did you mean 'fleet'"):
        lake.state(groups=["fleeet"])


def test_the_command_takes_the_only_cluster_of_a_lake(earlier: Path) -> None:
    """`state` without --cluster answers as with it."""
    answer = call("state", "--lake", earlier)
    assert (answer.code, answer.err) == (0, "")
    assert answer == call("state", "--lake", earlier, "--cluster", "golden")


def test_what_is_no_lake_is_refused(audit: ra.Audit, lake: Path, tmp_path: Path) -> None:
    """At once, with the clusters that there are; a state needs one cluster."""
    with pytest.raises(ra.LakeNotReadable, match="has no run of cluster green; it has blue"):
        ra.open_lake(lake, "green")
    with pytest.raises(ra.LakeNotReadable, match="is no lake: it has no table"):
        ra.open_lake(tmp_path)
    with pytest.raises(ra.LakeNotReadable, match="only Spark can ask"):
        ra.open_lake("catalog:main")
    assert ra.open_lake(str(lake)).clusters() == ["blue"]
