"""Metrics as families of the Prometheus client."""

from collections.abc import Mapping, Sequence

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.utils import floatToGoString

from rebalance_audit.figures.duration_counts import BOUNDS_S, DurationCounts
from rebalance_audit.readers.metric_queries import HISTOGRAMS, PREFIX


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
