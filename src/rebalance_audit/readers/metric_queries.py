"""The metrics by name: what each means, and the SQL that counts it; histograms as the Prometheus client has them."""

from collections.abc import Mapping, Sequence
from typing import Final

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.utils import floatToGoString

from rebalance_audit.bounds import BOUND_NAMES
from rebalance_audit.figures.groups import BOUNDS_S, DurationCounts

PREFIX: Final = "rebalance_audit_"
CHOSEN: Final = """
create temp table existing as from views.groups_now;

create temp table attention as
with first_seen as (
    select cluster, group_id, min(from_at) as first_at from gold.group_states group by all
)
select
    cluster,
    group_id,
    case
        when critical_findings > 0 or rebalancing_since is not null or is_stuck then 0
        when warning_findings > 0 then 1
        else 2
    end as place,
    first_at,
    not_stable_estimate_ms
from existing left join first_seen using (cluster, group_id);

create temp table chosen as
select cluster, group_id from attention
qualify row_number() over (
    partition by cluster
    order by
        place,
        case when place < 2 then first_at end nulls last,
        case when place = 2 then not_stable_estimate_ms end desc,
        group_id
) <= {groups_max};
"""
"""The groups with series of their own: those that need attention most; of groups in trouble the oldest.

Whoever may create groups can make any number of noisy ones. They are younger than those that they would push out.
"""


def _of_groups(value: str, source: str = "existing", labels: str = "", rest: str = "") -> str:
    """A value of each chosen group, and the columns that are labels; `source`: a table; `rest`: of the query."""
    return (
        f"select cluster, group_id, {labels}{value} as value"  # noqa: S608 - our own names
        f" from {source} join chosen using (cluster, group_id) {rest}"
    )


def _bounds_of_groups(values: Mapping[str, str], source: str, rest: str = "") -> str:
    """The same for each bound."""
    return " union all ".join(
        _of_groups(value, source, f"'{bound}' as bound, ", rest) for bound, value in values.items()
    )


def _figure(source: str, column: str, unit: str = "") -> str:
    """The same of a figure that has a column for each bound."""
    return _bounds_of_groups(
        {bound: column.format(bound=bound) + unit for bound in BOUND_NAMES}, source
    )


_SECONDS: Final = " / 1000.0"
_LAG_RECORDS: Final = {
    "min": "sum(lag_records_min)",
    "max": "case when count(lag_records_max) = count(*) then sum(lag_records_max) end",
}
_LAG_SECONDS: Final = {
    "min": "max(lag_min_ms) / 1000.0",
    "max": "case when count(lag_max_ms) = count(*) then max(lag_max_ms) / 1000.0 end",
}
"""No upper bound where an owner's partitions have none."""


def _lag(values: Mapping[str, str], where: str = "true") -> str:
    return _bounds_of_groups(values, "views.lag_by_owner", f"where {where} group by all")


METRICS: Final[Mapping[str, tuple[str, str]]] = {
    "newest_change_timestamp_seconds": (
        "Time of the newest change of a group in the tables.",
        """select cluster, epoch_ms(max(moment)) / 1000.0 as value from (
            select cluster, greatest(from_at, to_at) as moment from gold.group_states
            union all select cluster, greatest(started_at, converged_at) from gold.epochs
            union all select cluster, greatest(started_at, ended_at) from gold.rebalances
        ) group by cluster""",
    ),
    "groups": (
        "Groups that exist, by their state.",
        "select cluster, group_state as state, count(*) as value from existing group by all",
    ),
    "groups_without_series": (
        "Groups that exist and have no series of their own, since there are more than the bound.",
        """select cluster, count(*) - count(chosen.group_id) as value
        from existing left join chosen using (cluster, group_id) group by cluster""",
    ),
    "troubled_groups_without_series": (
        "Groups without series that are rebalancing or have an open finding of severity critical or warning.",
        """select cluster, count(*) filter (where place < 2 and chosen.group_id is null) as value
        from attention left join chosen using (cluster, group_id) group by cluster""",
    ),
    "cluster_open_findings": (
        "Findings about all groups and the log itself that go on.",
        "select cluster, kind, severity, count(*) as value from gold.findings where to_at is null group by all",
    ),
    "cluster_rebalances": (
        "Rebalances of all groups, by primary cause.",
        """select cluster, coalesce(primary_cause, 'unknown') as cause, count(*) as value
        from gold.rebalances group by all""",
    ),
    "cluster_findings": (
        "Findings about all groups and the log itself, ended or not.",
        "select cluster, kind, severity, count(*) as value from gold.findings group by all",
    ),
    "group_state": (
        "1 for the state that the group is in.",
        _of_groups("1", labels="protocol, group_state as state, "),
    ),
    "group_members": (
        "Members of the group.",
        _of_groups("members"),
    ),
    "group_rebalancing_since_timestamp_seconds": (
        "Start of the rebalance that goes on; no series for a group without one.",
        _of_groups("epoch_ms(rebalancing_since) / 1000.0"),
    ),
    "group_awaited_members": (
        "Members for which the group waits, be it without an epoch that goes on; 0 for one that waits for none.",
        _of_groups("awaited_members"),
    ),
    "group_unconsumed_partitions": (
        "Partitions without a consumer: assigned, but no member has them, or one that left temporarily.",
        _of_groups("unconsumed"),
    ),
    "group_rebalances": (
        "Rebalances of the group, by primary cause.",
        _of_groups(
            "count(*)",
            "gold.rebalances",
            "coalesce(primary_cause, 'unknown') as cause, ",
            "group by all",
        ),
    ),
    "group_not_stable_seconds": (
        "Time in which the group was rebalancing: bounds and the best estimate.",
        _figure("figures.groups", "not_stable_{bound}_ms", _SECONDS),
    ),
    "group_unowned_partition_seconds": (
        "Sum over partitions of the time without owner: bounds and the best estimate.",
        _figure("figures.unowned", "unowned_partition_{bound}_ms", _SECONDS),
    ),
    "group_last_commit_age_seconds": (
        "Time from the last offset commit of an owner of the group to the newest moment in the tables.",
        """with moments as (
            select cluster, greatest(from_at, to_at) as moment from gold.group_states
            union all select cluster, greatest(started_at, converged_at) from gold.epochs
            union all select cluster, last_committed_at from gold.ownership
        ), newest as (select cluster, max(moment) as newest_at from moments group by cluster)
        select cluster, group_id, (epoch_ms(any_value(newest_at)) - epoch_ms(max(last_committed_at))) / 1000.0 as value
        from gold.ownership join chosen using (cluster, group_id) join newest using (cluster)
        where last_committed_at is not null group by cluster, group_id""",
    ),
    "group_records_delayed": (
        "Records that rebalances of the group delayed: bounds and the best estimate.",
        _figure("figures.groups", "records_delayed_{bound}"),
    ),
    "group_open_findings": (
        "Findings about the group that go on.",
        _of_groups("count(*)", "views.open_findings", "kind, severity, ", "group by all"),
    ),
}
"""Metric without its prefix -> what it means, and a query for its labels and its `value`."""

METRICS_OF_PROGRESS: Final[Mapping[str, tuple[str, str]]] = {
    "group_lag_records": (
        "Offsets that wait in the group's partitions, when they were sampled last: bounds.",
        _lag(_LAG_RECORDS),
    ),
    "group_lag_seconds": (
        "For how long the oldest record that the group has not committed had been waiting then: bounds.",
        _lag(_LAG_SECONDS),
    ),
    "group_owned_lag_records": (
        "The same without topics that the group has left: members own partitions of other topics alone.",
        _lag(_LAG_RECORDS, "not is_left"),
    ),
    "group_owned_lag_seconds": (
        "The same without topics that the group has left.",
        _lag(_LAG_SECONDS, "not is_left"),
    ),
    "group_offsets_beyond_end": (
        "Offsets by which committed ones lie beyond the ends of their partitions, which have no lag.",
        _of_groups(
            "sum(beyond_end)", "views.lag_by_owner", rest="group by all having sum(beyond_end) > 0"
        ),
    ),
}
"""Name -> meaning and query of metrics of gold.progress, where an audit of segments has no rows."""


def _durations(labels: str, chosen: str = "") -> str:
    """Rows of labels, the sum of milliseconds, the count up to each bound, and the count of all."""
    counts = ", ".join(
        f"count(*) filter (where likely_ms <= {bound * 1000:.0f})" for bound in BOUNDS_S
    )
    return f"""select {labels}, sum(likely_ms)::bigint as sum_ms, {counts}, count(*)
    from figures.rebalances {chosen} where likely_ms is not null and so_far_ms is null group by {labels}"""  # noqa: S608 - our own names


HISTOGRAMS: Final[Mapping[str, tuple[str, str]]] = {
    "cluster_rebalance_duration_seconds": (
        "How long rebalances of all groups took, by the best estimate, or its lower bound where there is none.",
        _durations("cluster"),
    ),
    "group_rebalance_duration_seconds": (
        "How long the group's rebalances took, by the best estimate, or its lower bound where there is none.",
        _durations("cluster, group_id", "join chosen using (cluster, group_id)"),
    ),
}
"""Histogram -> what it means, and a query as of `_durations`."""

MEANINGS: Final = {
    name: meaning
    for questions in (METRICS, METRICS_OF_PROGRESS, HISTOGRAMS)
    for name, (meaning, _) in questions.items()
}

RUNS: Final = """
create view audits as from runs where command <> 'ingest';
create view newest_done as from audits where outcome = 'done'
qualify row_number() over (partition by cluster order by run_number desc) = 1;
create view newest_ended as from audits where outcome <> 'running'
qualify row_number() over (partition by cluster order by run_number desc) = 1;
"""
"""An ingest makes no answers: it is no audit. Clocks of machines differ, numbers do not."""

METRICS_OF_RUNS: Final[Mapping[str, tuple[str, str]]] = {
    "last_run_timestamp_seconds": (
        "End of the newest audit that was completed.",
        "select cluster, epoch_ms(max(ended_at)) / 1000.0 as value from audits where outcome = 'done' group by cluster",
    ),
    "last_run_duration_seconds": (
        "How long the newest audit that was completed took.",
        "select cluster, (epoch_ms(ended_at) - epoch_ms(started_at)) / 1000.0 as value from newest_done",
    ),
    "last_run_failed": (
        "1 if the newest audit that ended had failed, 0 if it was completed.",
        "select cluster, (outcome = 'failed')::int as value from newest_ended",
    ),
    "last_run_retries": (
        "How often the newest audit that ended began its work again, since executors or a file were lost.",
        "select cluster, retries as value from newest_ended",
    ),
    "gold_newest_record_timestamp_seconds": (
        "Time of the newest record in the gold tables.",
        """select cluster, epoch_ms(max(newest_record_at)) / 1000.0 as value
        from audits where outcome = 'done' group by cluster""",
    ),
}
"""Name -> meaning and query of metrics of the runs that made a lake."""

METRICS_OF_BRONZE: Final[Mapping[str, tuple[str, str]]] = {
    "bronze_newest_record_timestamp_seconds": (
        "Time of the newest record that bronze has.",
        "select cluster, epoch_ms(max(last_record_at)) / 1000.0 as value from ingested group by cluster",
    ),
}
"""Name -> meaning and query of metrics of a lake with bronze. Live ingests keep meta.ingested up to date."""


def duration_histogram(
    name: str, labels: Sequence[str], series: Mapping[tuple[str, ...], DurationCounts]
) -> HistogramMetricFamily:
    """A histogram of rebalance durations; `series`: values of the labels -> counts.

    Retention takes rows away, so a gauge histogram would say it best, but the text format that a node exporter reads
    has no such type.
    """
    family = HistogramMetricFamily(PREFIX + name, HISTOGRAMS[name][0], labels=labels)
    bounds = [*map(floatToGoString, BOUNDS_S), "+Inf"]
    for values, counts in sorted(series.items()):
        buckets = list(zip(bounds, counts.cumulative, strict=True))
        family.add_metric(values, buckets, counts.sum_ms / 1000)
    return family
