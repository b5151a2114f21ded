"""A web server that is sent findings. It is not trusted: with time, with redirects, or with the text of an error."""

import json
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from http.client import HTTPException
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from rebalance_audit.errors import BadRequest
from rebalance_audit.version import __version__

ATTEMPT_S: Final = 10.0
"""From looking up the host's name to the last header of its answer. The body of an answer is not read."""
PAUSES_S: Final = (1, 4)
"""Before the second and the third attempt."""


class Blame(Enum):
    """What a failure says something about."""

    FINDING = "finding"
    """The server understood the request and does not take this finding, now or later."""
    ADDRESS = "address"
    """The address, the key or the way to it is wrong, or this finding is."""
    SERVER = "server"
    """The server or the network may recover."""


class Failure(NamedTuple):
    """Why a finding was not taken."""

    why: str
    """In our words, or the system's: neither the address, which is a secret, nor what the server wrote."""
    blame: Blame


_BLAME: Final = {
    HTTPStatus.UNAUTHORIZED: Blame.ADDRESS,
    HTTPStatus.PAYMENT_REQUIRED: Blame.ADDRESS,
    HTTPStatus.FORBIDDEN: Blame.ADDRESS,
    HTTPStatus.NOT_FOUND: Blame.ADDRESS,
    HTTPStatus.METHOD_NOT_ALLOWED: Blame.ADDRESS,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: Blame.ADDRESS,
    HTTPStatus.REQUEST_TIMEOUT: Blame.SERVER,
    HTTPStatus.GONE: Blame.ADDRESS,
    HTTPStatus.TOO_EARLY: Blame.SERVER,
    HTTPStatus.TOO_MANY_REQUESTS: Blame.SERVER,
}
"""Codes that mean something else than their hundreds (RFC 9110, RFC 8470, RFC 6585)."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where findings go, and in which format."""

    url: str
    kind: str
    """A key of BODIES."""
    routing_key: str = ""
    pause: Callable[[float], None] = time.sleep
    """What waits between attempts."""
    attempt_s: float = ATTEMPT_S

    def __post_init__(self) -> None:
        """Raises BadRequest for what is no address of a web server; the sentence does not contain it."""
        parts = _parts(self.url)
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise BadRequest("A webhook's address begins with http:// or https:// and a host.")
        if not (self.url.isascii() and self.url.isprintable()) or " " in self.url:
            raise BadRequest("A webhook's address has only visible ASCII characters.")
        if "@" in parts.netloc:
            raise BadRequest("A webhook's address has no user name or password.")

    @property
    def host(self) -> str:
        """What may be shown of the address."""
        return urlsplit(self.url).hostname or ""

    def post(self, body: object) -> Failure | None:
        """Send one body; tried again where the server or the network may recover. None once it was taken."""
        request = Request(  # noqa: S310 - the scheme was checked
            self.url,
            data=json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "User-Agent": f"rebalance-audit/{__version__}",
            },
            method="POST",
        )
        failure = None
        for pause in (0, *PAUSES_S):
            self.pause(pause)
            failure = _within(self.attempt_s, request)
            if failure is None or failure.blame is not Blame.SERVER:
                break
        return failure


def _parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is no number
    except ValueError:
        return None
    return parts


class _NoRedirects(HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without its body, and anywhere; the redirect itself is the answer."""

    def redirect_request(self, *_: object) -> None:
        """None: not followed."""


_OPENER: Final = build_opener(_NoRedirects)


def _within(seconds: float, request: Request) -> Failure | None:
    """One attempt that ends in time, whatever the server does.

    A socket's timeout begins again with each byte, and does not count looking up a name. So the attempt is made by a
    thread, which is left to itself when the time is over; it does not keep the process from ending.
    """
    answers: SimpleQueue[Failure | None] = SimpleQueue()
    Thread(target=lambda: answers.put(_attempt(request, seconds)), daemon=True).start()
    try:
        return answers.get(timeout=seconds)
    except Empty:
        return Failure(f"no answer within {seconds:g} s", Blame.SERVER)


def _attempt(request: Request, seconds: float) -> Failure | None:
    try:
        with _OPENER.open(request, timeout=seconds):
            return None
    except HTTPError as error:
        error.close()
        return _refusal(error.code)
    except (OSError, HTTPException, ValueError) as error:
        return Failure(_sentence(error), Blame.SERVER)


def _refusal(code: int) -> Failure:
    """What an answer's code says."""
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR or code < HTTPStatus.OK:
        blame = Blame.SERVER
    elif code < HTTPStatus.BAD_REQUEST:
        return Failure(f"HTTP {code}, a redirect, which is not followed", Blame.ADDRESS)
    else:
        blame = next((found for known, found in _BLAME.items() if known == code), Blame.FINDING)
    return Failure(f"HTTP {code}", blame)


def _sentence(error: Exception) -> str:
    """What went wrong, without any text that the server or the address may be in."""
    cause = error.reason if isinstance(error, URLError) else error
    match cause:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not accepted: {cause.verify_message}"
        case TimeoutError():
            return "no answer in time"
        case OSError() if cause.strerror:
            return cause.strerror
        case _:
            return f"no answer of a web server ({type(cause).__name__})"
