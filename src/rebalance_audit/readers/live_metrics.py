"""The metrics of `watch` at an HTTP endpoint, in the text format that the scraper asks for.

The names and meanings are those of `metrics`; two more are about the watch itself.

The server trusts no client: with time, with connections, with a host's name. A page in a browser can ask a server of
this machine once the name of its own host leads here (DNS rebinding). Its requests then name that host, so that a
request which names any other than ours is refused.
"""

import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from ipaddress import ip_address
from socketserver import ThreadingMixIn
from threading import BoundedSemaphore, Thread, Timer
from typing import Any, Final
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rebalance_audit.errors import BadRequest
from rebalance_audit.figures.groups import DurationCounts
from rebalance_audit.readers.metric_queries import MEANINGS, PREFIX, duration_histogram

CONNECTIONS_MAX: Final = 32
"""At the same time; others are closed."""
CONNECTION_S: Final = 30.0
"""How long a connection may last, however slowly its client reads and writes."""

App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def metrics_server(app: App, address: str, port: int, host_names: Collection[str]) -> WSGIServer:
    """A server of this app, bound and not yet serving. Raises OSError.

    `host_names`: names of this machine that a client may use, besides its addresses, `localhost` and its own names.
    """
    known = {"localhost", address, socket.gethostname(), socket.getfqdn(), *host_names}
    names = frozenset(name.lower() for name in known)
    server_class = _SixServer if ":" in address else _Server
    return make_server(address, port, _for_hosts(app, names), server_class, _Handler)


def with_probes(app: App, is_ready: Callable[[], bool]) -> App:
    """`app`, with `/-/healthy` and `/-/ready` before it, as Prometheus' own programs have them."""

    def probed(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        match environ.get("PATH_INFO"):
            case "/-/healthy":
                status = HTTPStatus.OK
            case "/-/ready":
                status = HTTPStatus.OK if is_ready() else HTTPStatus.SERVICE_UNAVAILABLE
            case _:
                return app(environ, start_response)
        start_response(f"{status.value} {status.phrase}", [("Content-Type", "text/plain")])
        return [f"{status.phrase}\n".encode()]

    return probed


def is_ours(host: str, names: Collection[str]) -> bool:
    """Whether the value of a Host header is an address or one of these names, with or without a port."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        ip_address(name)
    except ValueError:
        return name in names
    return True


def _for_hosts(app: App, names: Collection[str]) -> App:
    def checked(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        # A client of HTTP/1.0 may leave it out; no browser does.
        host = environ.get("HTTP_HOST")
        if host is None or is_ours(host, names):
            return app(environ, start_response)
        status = HTTPStatus.MISDIRECTED_REQUEST
        start_response(f"{status.value} {status.phrase}", [("Content-Type", "text/plain")])
        return [b"This server has another name: see --metrics-host.\n"]

    return checked


class _Handler(WSGIRequestHandler):
    """Logs nothing: a client writes what would be logged."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


class _Server(ThreadingMixIn, WSGIServer):
    """A thread per connection; there are a few, and none for long."""

    daemon_threads = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._free = BoundedSemaphore(CONNECTIONS_MAX)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer it in a thread, or close it."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer it, in time."""
        end = Timer(CONNECTION_S, _hang_up, (request,))
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that hangs up is no error of ours."""


def _hang_up(request: socket.socket) -> None:
    """Whoever reads from it or writes to it stops waiting."""
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _SixServer(_Server):
    """At an address of IPv6."""

    address_family = socket.AF_INET6


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
