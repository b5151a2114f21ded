"""Clients of the metrics' endpoint that ask under another name, or do not end."""

import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from urllib.error import HTTPError

import pytest

from rebalance_audit.readers import live_metrics
from rebalance_audit.readers.live_metrics import LiveMetrics, served


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Of an endpoint whose connections are few and short."""
    monkeypatch.setattr(live_metrics, "CONNECTIONS_MAX", 3)
    monkeypatch.setattr(live_metrics, "CONNECTION_S", 0.5)
    metrics = LiveMetrics()
    metrics.take([("groups", {"cluster": "blue", "state": "Stable"}, 7)])
    with served(metrics, "127.0.0.1", 0, ["Metrics.Example"]) as found:
        yield found


def asked(port: int, host: str) -> tuple[int, str]:
    """Code and body of an answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - our own server
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:9187", 200),
        ("10.1.2.3:9187", 200),
        ("[::1]:9187", 200),
        ("localhost", 200),
        ("metrics.example:9187", 200),
        (f"{socket.gethostname()}:9187", 200),
        ("rebound.evil.example", 421),
        ("rebound.evil.example:9187", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("user@evil.example", 421),
        ("[::1", 421),
        ("", 421),
    ],
)
def test_a_request_that_names_another_host_is_refused(host: str, code: int, port: int) -> None:
    """A page of a browser asks under its own name, which leads here only now; addresses are no names."""
    got, body = asked(port, host)
    assert got == code
    assert ("rebalance_audit_groups" in body) == (code == 200)


def test_slow_clients_do_not_hold_the_endpoint(port: int) -> None:
    """Connections without a request are closed in time, and those beyond the bound at once."""
    with ExitStack() as connections:
        for _ in range(6):
            slow = connections.enter_context(socket.create_connection(("127.0.0.1", port)))
            slow.sendall(b"GET / HTTP/1.1\r\nX-")
        assert eventually(lambda: asked(port, "localhost")[0] == 200)


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it holds within ten seconds; an error of the network is no answer."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with suppress(OSError):
            if holds():
                return True
        time.sleep(0.05)
    return False
