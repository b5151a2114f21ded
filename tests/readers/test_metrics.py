"""Metrics as Prometheus reads them: by the parser of its client library."""

import json
from collections.abc import Sequence
from pathlib import Path

from deltalake import write_deltalake
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from rebalance_audit.readers.lake_reader import open_lake
from rebalance_audit.readers.metrics import metrics_text
from rebalance_audit.tables.rows import GoldRows
from tests.cli.audited import audited_once
from tests.cli.call import call, segments
from tests.support.lake_without_spark import arrow_table, empty_gold, write_lake

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(rows: GoldRows, groups_max: int = 100) -> Samples:
    """Value by name without prefix, and labels without the cluster."""
    text = metrics_text(rows, groups_max).decode()
    return {
        (
            sample.name.removeprefix("rebalance_audit_"),
            frozenset(item for item in sample.labels.items() if item[0] != "cluster"),
        ): sample.value
        for family in text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        for sample in family.samples
    }


def of(found: Samples, name: str, **labels: str) -> Sequence[float]:
    """Values of the series of a name that have these labels."""
    return [
        value for (each, of_it), value in found.items() if each == name and labels.items() <= of_it
    ]


def test_json_has_the_same_series() -> None:
    """`metrics --json`: every name, label and value of the OpenMetrics text, and what each metric means."""
    printed = json.loads(call("metrics", segments("consumer-protocol"), "--json").out)
    found = {
        (
            metric["name"].removeprefix("rebalance_audit_"),
            frozenset(item for item in one["labels"].items() if item[0] != "cluster"),
        ): one["value"]
        for metric in printed["metrics"]
        for one in metric["series"]
    }
    assert found == samples(audited_once(segments("consumer-protocol")), groups_max=500)
    assert all(metric["meaning"].endswith(".") for metric in printed["metrics"])


def test_metrics_are_sums_of_the_rows() -> None:
    """States, rebalances by cause and lost time of each group, and of all of them."""
    audit = audited_once(segments("consumer-protocol"))
    found = samples(audit)
    assert sum(of(found, "groups")) == len(audit.state().groups) > 5
    assert sum(of(found, "cluster_rebalances")) == len(audit.rebalances)
    assert sum(of(found, "cluster_findings")) == len(audit.findings)
    for group in (each["group_id"] for each in audit.state().groups):
        rebalances = audit.rebalances.where([group])
        assert sum(of(found, "group_rebalances", group=group)) == len(rebalances)
        for bound in ("min", "max", "estimate"):
            expected = sum(row[f"duration_{bound}_ms"] for row in rebalances) / 1000
            assert of(found, "group_not_stable_seconds", group=group, bound=bound) == [expected]
    assert of(found, "group_state", group="slow", state="Stable", protocol="consumer") == [1]
    (newest,) = of(found, "newest_change_timestamp_seconds")
    assert newest == max(row["from_at"] for row in audit.group_states).timestamp()
    assert of(found, "last_run_timestamp_seconds") == []


def test_histograms_count_how_long_rebalances_took() -> None:
    """Cumulative, with the bounds included, as Prometheus' `histogram_quantile` needs them."""
    audit = audited_once(segments("consumer-protocol"))
    found = samples(audit)
    for labels, rows in (
        ({"group": "slow"}, audit.rebalances.where(["slow"])),
        ({}, audit.rebalances),
    ):
        name = f"{'group' if labels else 'cluster'}_rebalance_duration_seconds"
        took_ms = [row["duration_estimate_ms"] for row in rows]
        took_ms = [each for each in took_ms if each is not None]
        assert len(took_ms) > 1
        for le in ("0.1", "1.0", "30.0", "3600.0", "+Inf"):
            expected = sum(each <= float(le) * 1000 for each in took_ms)
            assert of(found, f"{name}_bucket", le=le, **labels) == [expected]
        assert of(found, f"{name}_count", **labels) == [len(took_ms)]
        assert of(found, f"{name}_sum", **labels) == [sum(took_ms) / 1000]


def test_the_age_of_the_last_commit_is_counted_to_the_end_of_the_tables(tmp_path: Path) -> None:
    """The last commit of any owner counts; a group that never committed has no series."""
    second, tables = 1000, empty_gold()
    stable = {"group_state": "Stable", "protocol": "consumer", "is_current": True}
    tables["group_states"] = [
        {"group_id": group, **stable, "from_at": 100 * second} for group in ("busy", "silent")
    ]
    tables["ownership"] = [
        {"group_id": "busy", "topic_partition": number, "last_committed_at": at}
        for number, at in enumerate((30 * second, 60 * second, None))
    ] + [{"group_id": "silent", "topic_partition": 0}]
    write_lake(tmp_path, tables, "blue")
    found = samples(open_lake(tmp_path))
    assert of(found, "group_last_commit_age_seconds", group="busy") == [40]
    assert of(found, "group_last_commit_age_seconds", group="silent") == []


def test_the_number_of_series_is_bounded_and_says_what_it_leaves_out() -> None:
    """The groups that lost most time have series; the numbers about the cluster still count all."""
    audit = audited_once(segments("consumer-protocol"))
    found = samples(audit, groups_max=2)
    named = {dict(labels)["group"] for name, labels in found if name.startswith("group_")}
    lost = dict.fromkeys((group["group_id"] for group in audit.state().groups), 0)
    for row in audit.rebalances:
        if row["group_id"] in lost:
            lost[row["group_id"]] += row["duration_estimate_ms"]
    assert named == set(sorted(lost, key=lambda group: -lost[group])[:2])
    assert of(found, "groups_without_series") == [len(lost) - 2]
    assert sum(of(found, "cluster_rebalances")) == len(audit.rebalances)


def test_a_bound_that_is_not_known_is_no_series(tmp_path: Path) -> None:
    """One classic rebalance without an upper bound leaves its group without one. A lake knows when it was audited."""
    tables = empty_gold()
    tables["group_states"] = [
        {"group_id": "g", "group_state": "Stable", "is_current": True, "protocol": "classic"}
    ]
    tables["rebalances"] = [
        {"group_id": "g", "outcome": "stable", "duration_min_ms": least, "duration_max_ms": most}
        for least, most in ((100, 500), (1000, None))
    ]
    write_lake(tmp_path, tables, "blue")
    found = samples(open_lake(tmp_path))
    assert of(found, "group_not_stable_seconds", bound="min") == [1.1]
    assert of(found, "group_not_stable_seconds", bound="max") == []


def test_runs_show_when_they_ended_and_how_far_they_came(tmp_path: Path) -> None:
    """The newest audit that ended, by number and not by clock; ingests and runs that go on are none."""
    minute = 60_000
    runs = [
        {"run_id": "a", "run_number": 1, "command": "run", "outcome": "done", "retries": 0}
        | {"started_at": 10 * minute, "ended_at": 12 * minute, "newest_record_at": 9 * minute},
        {"run_id": "b", "run_number": 2, "command": "run", "outcome": "done", "retries": 0}
        | {"started_at": 20 * minute, "ended_at": 23 * minute, "newest_record_at": 19 * minute},
        {"run_id": "c", "run_number": 3, "command": "run", "outcome": "failed", "retries": 2}
        | {"started_at": 30 * minute, "ended_at": 34 * minute},
        {"run_id": "d", "command": "ingest", "outcome": "done", "retries": 0}
        | {"started_at": 40 * minute, "ended_at": 45 * minute, "newest_record_at": 39 * minute},
        {"run_id": "e", "run_number": 4, "command": "run", "outcome": "running", "retries": 0}
        | {"started_at": 50 * minute},
    ]
    write_lake(tmp_path, empty_gold(), "blue", runs)
    bronze = [{"partition": 7, "last_record_at": 39 * minute}, {"partition": 8}]
    ingested = arrow_table("meta.ingested", bronze, "blue")
    expected = {
        "last_run_timestamp_seconds": 23 * 60,
        "last_run_duration_seconds": 3 * 60,
        "last_run_failed": 1,
        "last_run_retries": 2,
        "gold_newest_record_timestamp_seconds": 19 * 60,
    }
    found = samples(open_lake(tmp_path))
    assert {name: value for (name, _), value in found.items()} == expected
    write_deltalake(str(tmp_path / "meta" / "ingested"), ingested)
    found = samples(open_lake(tmp_path))
    expected["bronze_newest_record_timestamp_seconds"] = 39 * 60
    assert {name: value for (name, _), value in found.items()} == expected


def test_the_command_writes_a_file_for_the_collector(tmp_path: Path) -> None:
    """Whole or not at all, since the collector may read at any time."""
    out = tmp_path / "made" / "rebalance_audit.prom"
    assert call("metrics", segments("classic-static"), "--out", out).code == 0
    assert out.read_text().endswith("# EOF\n")
    assert [file.name for file in out.parent.iterdir()] == [out.name]
