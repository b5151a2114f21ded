"""The endpoint of `watch` has the metrics that `metrics` has for the same log."""

import urllib.request
from http.client import HTTPConnection

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.ownership.commit_book import CommittedPosition
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.live_source import live_source
from rebalance_audit.cli.watched_groups import WatchedGroups
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.local.live.live_audit import LiveAudit
from rebalance_audit.readers.live_metrics import LiveMetrics, served
from rebalance_audit.readers.metrics import metrics_text
from rebalance_audit.report.lag_text import group_lags
from tests.cli.call import segments

LOG = segments("consumer-protocol")
GROUPS_MAX = 100
NOT_LIVE = {
    "newest_change_timestamp_seconds",
    "group_unowned_partition_seconds",
    "cluster_findings",
    "group_last_commit_age_seconds",
}

Sample = tuple[str, tuple[tuple[str, str], ...], float]


def test_the_endpoint_has_what_metrics_has() -> None:
    """Scraped over HTTP as a Prometheus server does."""
    metrics = LiveMetrics()
    metrics.take(list(groups().samples(GROUPS_MAX)))
    with served(metrics, "127.0.0.1", 0) as port:
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/metrics", headers={"Accept": "application/openmetrics-text"}
        )
        with urllib.request.urlopen(asked) as answer:  # noqa: S310 - our own server
            scraped = samples(answer.read().decode())
    expected = samples(metrics_text(audit_segments(LOG, cluster="blue"), GROUPS_MAX).decode())
    assert scraped == {each for each in expected if each[0] not in NOT_LIVE}


@pytest.mark.parametrize(
    ("path", "is_ready", "status"),
    [
        ("/-/healthy", False, 200),
        ("/-/ready", False, 503),
        ("/-/ready", True, 200),
        ("/metrics", False, 200),
    ],
)
def test_probes_say_whether_it_is_alive_and_up_to_date(
    path: str, is_ready: bool, status: int
) -> None:
    """As Kubernetes asks, by the address of the pod; metrics are there before the log has been read."""
    metrics = LiveMetrics()
    metrics.is_ready = is_ready
    with served(metrics, "127.0.0.1", 0) as port:
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("GET", path, headers={"Host": f"10.1.2.3:{port}"})
        assert connection.getresponse().status == status
        connection.close()


def test_series_of_groups_are_bounded() -> None:
    """The others are counted."""
    watched = groups()
    samples = list(watched.samples(1))
    assert len({labels["group"] for name, labels, _ in samples if "group" in labels}) == 1
    (without,) = [value for name, _, value in samples if name == "groups_without_series"]
    assert without == len(watched.by_trouble()) - 1 > 0


def test_lag_is_shown_of_groups_with_samples() -> None:
    """Bounds; of groups without any end offset only when they committed last."""
    watched = groups()
    group_id = min(group.group_id for group in watched.by_trouble())
    position = CommittedPosition("orders", 0, "m", None, "app", 70, 1_000, None)
    ends = EndOffsets({("orders", 0): [EndOffset(0, 0, 60), EndOffset(9_000, 0, 100)]})
    for end_offsets, expected in (
        (
            ends,
            {
                ("group_lag_records", "min"): 30,
                ("group_lag_records", "max"): 30,
                ("group_lag_seconds", "min"): 0.0,
                ("group_lag_seconds", "max"): 9.0,
            },
        ),
        (EndOffsets(), {}),
    ):
        (lag,) = group_lags([(group_id, position)], end_offsets)
        watched.lags = {group_id: lag}
        found = {
            (name, labels.get("bound")): value
            for name, labels, value in watched.samples(GROUPS_MAX)
            if isinstance(value, float | int)
        }
        assert {key: found[key] for key in found if key[0].startswith("group_lag_")} == expected
        assert found["group_last_commit_age_seconds", None] > 1_000


def groups() -> WatchedGroups:
    """All groups of the log."""
    source = live_source(Invocation(), f"segments:{LOG}")
    names = source.names
    options = AuditOptions(
        topic_name=names.name_of,
        topic_deleted_at=names.deleted_at_ms,
        topic_lives=names.lives_of,
        topic_shapes=names.shapes_of,
    )
    live, found = LiveAudit(options, names), WatchedGroups("blue")
    for log_partition, piece in source.log.read():
        live.take(log_partition, piece)
    found.take(live.updates())
    return found


def samples(text: str) -> set[Sample]:
    """Name without prefix, labels and value of every sample."""
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return {
        (
            sample.name.removeprefix("rebalance_audit_"),
            tuple(sorted(sample.labels.items())),
            sample.value,
        )
        for family in families
        for sample in family.samples
    }
