"""The HTTP server that metrics are scraped from. It trusts no client: with time, with connections, with a host's name.

A page in a browser can ask a server of this machine once the name of its own host leads here (DNS rebinding). Its
requests then name that host, so that a request which names any other than ours is refused.
"""

import socket
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address
from socketserver import ThreadingMixIn
from threading import BoundedSemaphore, Timer
from typing import Any, Final
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

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
