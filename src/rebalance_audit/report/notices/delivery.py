"""Sends each finding to a webhook once, and remembers in a file which were sent."""

import json
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from rebalance_audit.audit.rows import Row
from rebalance_audit.errors import BadRequest, NotDelivered
from rebalance_audit.new_file import replacing
from rebalance_audit.report.notices.bodies import BODIES
from rebalance_audit.version import __version__

TIMEOUT_S: Final = 10
PAUSES_S: Final = (1, 4)
"""Before the second and the third attempt."""
SERVER_ERRORS: Final = HTTPStatus.INTERNAL_SERVER_ERROR
"""From this code on it is the server's fault."""
_FORMAT: Final = 1


@dataclass(slots=True)
class SentFindings:
    """Which findings one webhook was told of, by id, and whether each went on then."""

    file: Path
    went_on: dict[str, bool] = field(default_factory=dict)
    is_new: bool = False
    """Whether there was no file yet."""

    @classmethod
    def read(cls, file: Path) -> "SentFindings":
        """What the file says. Raises BadRequest for a file that is none of ours, and OSError."""
        if not file.exists():
            return cls(file, is_new=True)
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
            if known["format"] != _FORMAT:
                raise BadRequest(f"{file} was written by another release.")
            return cls(file, dict(known["went_on"]))
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequest(f"{file} is no list of sent findings.") from error

    def note(self, finding: Row) -> None:
        """Remember a finding, on disk before this returns. Raises OSError."""
        self.went_on[finding["finding_id"]] = finding["to_at"] is None
        self.write()

    def write(self) -> None:
        """Replace the file. Raises OSError."""
        with replacing(self.file) as new:
            new.write_text(json.dumps({"format": _FORMAT, "went_on": self.went_on}), "utf-8")


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where findings go, and in which words."""

    url: str
    kind: str
    """A key of BODIES."""
    routing_key: str = ""
    pause: Callable[[float], None] = time.sleep
    """What waits between attempts."""

    def __post_init__(self) -> None:
        """Raises BadRequest for what is no address of a web server."""
        if urlsplit(self.url).scheme not in {"http", "https"}:
            raise BadRequest("A webhook's address begins with http:// or https://.")

    def post(self, body: object) -> None:
        """Send one body; tried again where the server or the network may recover. Raises NotDelivered."""
        request = Request(  # noqa: S310 - the scheme was checked
            self.url,
            data=json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "User-Agent": f"rebalance-audit/{__version__}",
            },
            method="POST",
        )
        why = ""
        for pause in (0, *PAUSES_S):
            self.pause(pause)
            why, is_final = _attempt(request)
            if not why:
                return
            if is_final:
                break
        raise NotDelivered(f"{urlsplit(self.url).hostname} did not take a finding: {why}.")


class _NoRedirects(HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without its body; the redirect itself is the answer."""

    def redirect_request(self, *_: object) -> None:
        """None: not followed."""


_OPENER: Final = build_opener(_NoRedirects)


def _attempt(request: Request) -> tuple[str, bool]:
    """Why it failed, empty if it did not, and whether another attempt is of no use."""
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S):
            return "", True
    except HTTPError as error:
        error.close()
        may_pass = error.code == HTTPStatus.TOO_MANY_REQUESTS or error.code >= SERVER_ERRORS
        return f"HTTP {error.code}", not may_pass
    except OSError as error:
        return str(getattr(error, "reason", error)), False


def due(
    findings: Iterable[Row], sent: SentFindings, severities: Collection[str], *, tells_ends: bool
) -> list[tuple[Row, bool]]:
    """What a webhook is to be told, oldest first, each with whether it is told of the finding's end.

    Where nothing was ever sent, that is what goes on: a first call must not tell of a year.
    """
    wanted = [row for row in findings if row["severity"] in severities]
    wanted.sort(key=lambda row: (row["from_at"] is not None, row["from_at"], row["finding_id"]))
    told = []
    for row in wanted:
        goes_on = row["to_at"] is None
        went_on = sent.went_on.get(row["finding_id"])
        if went_on is None and (goes_on or not sent.is_new):
            told.append((row, False))
        elif went_on and not goes_on and tells_ends:
            told.append((row, True))
    return told


def deliver(
    findings: Iterable[Row], sent: SentFindings, webhook: Webhook, severities: Collection[str]
) -> list[str]:
    """Send the findings of these severities that are due; returns their ids.

    PagerDuty is also told of the end of what it was told of. Each finding is noted once it was taken, so that a call
    that fails or is killed leaves the others to the next; killed between the two, it sends one finding twice, with the
    same id. Raises NotDelivered, and OSError.
    """
    findings = list(findings)
    tells_ends = webhook.kind == "pagerduty"
    ahead = due(findings, sent, severities, tells_ends=tells_ends)
    if sent.is_new:
        ended = [row["finding_id"] for row in findings if row["to_at"] is not None]
        sent.went_on.update(dict.fromkeys(ended, False))
        sent.write()
    for row, has_ended in ahead:
        webhook.post(BODIES[webhook.kind](row, has_ended, webhook.routing_key))
        sent.note(row)
    return [row["finding_id"] for row, _ in ahead]
