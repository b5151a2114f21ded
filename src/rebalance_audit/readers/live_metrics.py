"""The metrics of `watch` at an HTTP endpoint, in the text format that the scraper asks for.

The names and meanings are those of `metrics`; two more are about the watch itself.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Final

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rebalance_audit.errors import BadRequest
from rebalance_audit.figures.groups import DurationCounts
from rebalance_audit.readers.metric_queries import MEANINGS, PREFIX, duration_histogram
from rebalance_audit.readers.metrics_server import metrics_server, with_probes

_OF_WATCH: Final[Mapping[str, str]] = {
    "watch_log_end_timestamp_seconds": "Latest record time that was read.",
    "watch_reads_the_log": "1 if the last attempt to read the log succeeded, otherwise 0.",
}


class LiveMetrics(Collector):
    """Answers every scrape with the samples that it was given last."""

    def __init__(self) -> None:
        self._samples: Sequence[tuple[str, Mapping[str, str], float | DurationCounts]] = ()
        self.is_ready = False
        """Whether the log has been read to its end and can be read now."""

    def take(
        self, samples: Sequence[tuple[str, Mapping[str, str], float | DurationCounts]]
    ) -> None:
        """(Name without prefix, labels, value) of each series as it is now."""
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        """A family for each name, its series in order of their labels."""
        meanings = {**MEANINGS, **_OF_WATCH}
        gauges: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        histograms: dict[str, list[tuple[Mapping[str, str], DurationCounts]]] = {}
        for name, labels, value in self._samples:
            if isinstance(value, DurationCounts):
                histograms.setdefault(name, []).append((labels, value))
            else:
                gauges.setdefault(name, []).append((labels, value))
        for name, series in gauges.items():
            family = GaugeMetricFamily(PREFIX + name, meanings[name], labels=list(series[0][0]))
            for labels, value in sorted(series, key=lambda each: tuple(each[0].values())):
                family.add_metric(list(labels.values()), value)
            yield family
        for name, counted in histograms.items():
            by_labels = {tuple(labels.values()): counts for labels, counts in counted}
            yield duration_histogram(name, list(counted[0][0]), by_labels)


@contextmanager
def served(
    metrics: LiveMetrics, address: str, port: int, host_names: Collection[str] = ()
) -> Iterator[int]:
    """Serve them while inside; gives the port, which the system chooses for 0. Raises BadRequest if it is taken.

    `host_names`: names of this machine that a scraper may use, besides those that it has itself.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    try:
        app = with_probes(make_wsgi_app(registry), lambda: metrics.is_ready)
        server = metrics_server(app, address, port, host_names)
    except OSError as error:
        raise BadRequest(
            f"Metrics cannot be served at {address}:{port}: {error.strerror}."
        ) from None
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
