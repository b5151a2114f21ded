"""The metrics of `watch` at an HTTP endpoint, in the text format that the scraper asks for.

The names and meanings are those of `metrics`; two more tell how the watching itself fares.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rebalance_audit.errors import BadRequest
from rebalance_audit.readers.metrics import MEANINGS, PREFIX

_OF_WATCH: Final[Mapping[str, str]] = {
    "watch_log_end_timestamp_seconds": "Latest record time that was read.",
    "watch_reads_the_log": "1 if the last attempt to read the log succeeded, else 0.",
}


class LiveMetrics(Collector):
    """Answers every scrape with the samples that it was given last."""

    def __init__(self) -> None:
        self._samples: Sequence[tuple[str, Mapping[str, str], float]] = ()

    def take(self, samples: Sequence[tuple[str, Mapping[str, str], float]]) -> None:
        """(Name without prefix, labels, value) of everything there is to tell now."""
        self._samples = samples

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """A family for each name, its series in order of their labels."""
        meanings = {**MEANINGS, **_OF_WATCH}
        by_name: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for name, labels, value in self._samples:
            by_name.setdefault(name, []).append((labels, value))
        for name, series in by_name.items():
            family = GaugeMetricFamily(PREFIX + name, meanings[name], labels=list(series[0][0]))
            for labels, value in sorted(series, key=lambda each: tuple(each[0].values())):
                family.add_metric(list(labels.values()), value)
            yield family


@contextmanager
def served(metrics: LiveMetrics, address: str, port: int) -> Iterator[int]:
    """Serve them while inside; gives the port, which the system chooses for 0. Raises BadRequest if it is taken."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise BadRequest(
            f"Metrics cannot be served at {address}:{port}: {error.strerror}."
        ) from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
