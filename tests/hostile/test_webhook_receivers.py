"""Receivers of webhooks that do not answer, or answer with what should harm: the call ends in time, with a sentence."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest

from rebalance_audit.errors import BadRequest
from rebalance_audit.report.notices.webhook import Blame, Webhook

KEY = "T00-B00-s3cret"
ATTEMPT_S = 0.5
Answer = Callable[[socket.socket, Event], None]


@contextmanager
def answering(answer: Answer) -> Iterator[int]:
    """The port of a server that accepts connections and answers each by itself."""
    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)

        def accept() -> None:
            while not over.is_set():
                with suppress(OSError):
                    client, _ = server.accept()
                    Thread(target=serve, args=(client,), daemon=True).start()

        def serve(client: socket.socket) -> None:
            with client, suppress(OSError):
                client.recv(65536)
                answer(client, over)

        thread = Thread(target=accept)
        thread.start()
        yield server.getsockname()[1]
        over.set()
        thread.join()


def dripping(head: bytes, drop: bytes) -> Answer:
    """A byte or a line now and then, for ever."""

    def answer(client: socket.socket, over: Event) -> None:
        client.sendall(head)
        while not over.wait(0.1):
            client.sendall(drop)

    return answer


def silent(_: socket.socket, over: Event) -> None:
    """Nothing."""
    over.wait()


def saying(text: bytes) -> Answer:
    """A fixed text."""
    return lambda client, _: client.sendall(text)


def flooding(client: socket.socket, over: Event) -> None:
    """A body without an end, as fast as it is read."""
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not over.is_set():
        client.sendall(bytes(1 << 20))


RECEIVERS: dict[str, tuple[Answer, str | None]] = {
    "says nothing": (silent, "no answer"),
    "drips its first line": (dripping(b"HTTP/1.1 2", b"0"), "no answer"),
    "drips headers": (dripping(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"), "no answer|HTTPException"),
    "continues for ever": (dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "no answer"),
    "drips its body": (dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", b"x"), None),
    "floods": (flooding, None),
    "is no web server": (saying(b"SSH-2.0-\x1b]0;owned\x07\r\n"), r"no answer of a web server \(BadStatusLine\)"),
    "has a line of 100 kB": (saying(b"HTTP/1.1 200 " + b"x" * 100_000), r"web server \(LineTooLong\)"),
    "hangs up": (saying(b""), "no answer of a web server|reset"),
    "redirects to a file": (
        saying(b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n"),
        "HTTP 302, a redirect, which is not followed",
    ),
    "redirects to a host": (
        saying(b"HTTP/1.1 307 T\r\nLocation: http://169.254.169.254/\r\n\r\n"),
        "HTTP 307, a redirect",
    ),
    "answers with escapes": (saying(b"HTTP/1.1 400 \x1b[31mred\r\n\r\n"), "HTTP 400$"),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "why"), RECEIVERS.values(), ids=RECEIVERS)
def test_a_receiver_costs_no_more_than_its_time(answer: Answer, why: str | None) -> None:
    """Each attempt ends when its time is over, and nothing that the receiver wrote is in the sentence."""
    began = time.monotonic()
    with answering(answer) as port:
        webhook = Webhook(
            f"http://127.0.0.1:{port}/{KEY}", "json", pause=lambda _: None, attempt_s=ATTEMPT_S
        )
        failure = webhook.post({})
    assert time.monotonic() - began < 3 * ATTEMPT_S + 2
    if why is None:
        assert failure is None
    else:
        assert failure is not None
        assert re.search(why, failure.why)
        assert failure.why.isprintable()
        assert KEY not in failure.why


@pytest.mark.parametrize(
    "url",
    [
        f"http://example.com/{KEY} x",
        f"http://example.com/{KEY}\r\nX: y",
        f"http://example.com:{KEY}/",
        f"http://user:{KEY}@example.com/",
        f"http://example.com/ä{KEY}",
        f"file:///{KEY}",
        f"http:///{KEY}",
        f"http://[{KEY}/",
        KEY,
    ],
)
def test_an_address_that_is_none_is_not_repeated(url: str) -> None:
    """Not even where something is wrong with it: its path is the key."""
    with pytest.raises(BadRequest) as refused:
        Webhook(url, "json")
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (f"http://127.0.0.1:9/{KEY}", "Connection refused"),
        (f"https://127.0.0.1:9/{KEY}", "Connection refused"),
        (f"http://no-such-host.invalid/{KEY}", ""),
    ],
)
def test_an_error_of_the_network_is_the_systems(url: str, why: str) -> None:
    """Its text names no path."""
    failure = Webhook(url, "json", pause=lambda _: None, attempt_s=5).post({})
    assert failure is not None
    assert failure.blame is Blame.SERVER
    assert why in failure.why
    assert KEY not in failure.why
