"""Sends each finding to a webhook once. One that the receiver does not take keeps no other from being sent."""

import json
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rebalance_audit.audit.rows import Row
from rebalance_audit.errors import BadRequest, NotDelivered
from rebalance_audit.new_file import replacing
from rebalance_audit.report.notices.bodies import BODIES
from rebalance_audit.report.notices.webhook import Blame, Failure, Webhook

_FORMAT: Final = 1


@dataclass(slots=True)
class SentFindings:
    """What one webhook took and refused, by the finding's id."""

    file: Path
    went_on: dict[str, bool] = field(default_factory=dict)
    """Of findings that it took, or that had ended before the first call: whether each was ongoing then."""
    refused: dict[str, str] = field(default_factory=dict)
    """Of findings that are not sent again: why."""
    failures: dict[str, int] = field(default_factory=dict)
    """Of findings that are still due: how many calls could not deliver them. Those go last."""
    is_new: bool = False
    """Whether there was no file yet."""

    @classmethod
    def read(cls, file: Path) -> "SentFindings":
        """The content of the file. Raises BadRequest for a file that is none of ours, and OSError."""
        if not file.exists():
            return cls(file, is_new=True)
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
            if known["format"] != _FORMAT:
                raise BadRequest(f"{file} was written by another release.")
            refused, failures = (dict(known.get(name, {})) for name in ("refused", "failures"))
            return cls(file, dict(known["went_on"]), refused, failures)
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequest(f"{file} is no list of sent findings.") from error

    def take(self, finding: Row) -> None:
        """Note a finding that was taken, on disk before this returns. Raises OSError."""
        self.failures.pop(finding["finding_id"], None)
        self.went_on[finding["finding_id"]] = finding["to_at"] is None
        self.write()

    def refuse(self, finding: Row, why: str) -> None:
        """Note a finding that is not sent again. Raises OSError."""
        self.failures.pop(finding["finding_id"], None)
        self.refused[finding["finding_id"]] = why
        self.write()

    def fail(self, finding: Row) -> None:
        """Note a finding that is sent again by the next call, after the others. Raises OSError."""
        self.failures[finding["finding_id"]] = self.failures.get(finding["finding_id"], 0) + 1
        self.write()

    def write(self) -> None:
        """Replace the file. Raises OSError."""
        content = {
            "format": _FORMAT,
            "went_on": self.went_on,
            "refused": self.refused,
            "failures": self.failures,
        }
        with replacing(self.file) as new:
            new.write_text(json.dumps(content), "utf-8")


CALL_S: Final = 300.0
"""After which no further finding is sent: the next call goes on."""
FAILURES_MAX: Final = 2
"""So many findings in a row without an answer: the server is down."""
CALLS_MAX: Final = 5
"""Calls that try a finding on which the server fails while it takes others."""


@dataclass(slots=True)
class Delivery:
    """What a call did."""

    sent: list[str] = field(default_factory=list)
    """Ids of findings that were taken."""
    refused: dict[str, str] = field(default_factory=dict)
    """Id of a finding that is not sent again -> why."""
    left: int = 0
    """How many findings the next call sends."""


def due(
    findings: Iterable[Row], sent: SentFindings, severities: Collection[str], *, reports_ends: bool
) -> list[tuple[Row, bool]]:
    """What must be sent to a webhook, each with whether it is the finding's end: oldest first, after those that failed.

    Where nothing was ever sent, that is what goes on: a first call must not send a year.
    """
    wanted = [
        row
        for row in findings
        if row["severity"] in severities and row["finding_id"] not in sent.refused
    ]
    wanted.sort(
        key=lambda row: (
            sent.failures.get(row["finding_id"], 0),
            row["from_at"] is not None,
            row["from_at"],
            row["finding_id"],
        )
    )
    ahead = []
    for row in wanted:
        continues = row["to_at"] is None
        went_on = sent.went_on.get(row["finding_id"])
        if went_on is None and (continues or not sent.is_new):
            ahead.append((row, False))
        elif went_on and not continues and reports_ends:
            ahead.append((row, True))
    return ahead


def deliver(
    findings: Iterable[Row], sent: SentFindings, webhook: Webhook, severities: Collection[str]
) -> Delivery:
    """Send the findings of these severities that are due.

    PagerDuty is also sent the end of what it was sent. Each finding is noted once it was taken, so that a call that
    fails or is killed leaves the others to the next; killed between the two, it sends one finding twice, with the same
    id. A finding that the receiver refuses for good is noted and not sent again; where the address or the server may be
    at fault, only if the receiver took another one. Raises OSError, and NotDelivered where the receiver took nothing or
    does not answer.
    """
    findings = list(findings)
    ahead = due(findings, sent, severities, reports_ends=webhook.kind == "pagerduty")
    if sent.is_new:
        ended = [row["finding_id"] for row in findings if row["to_at"] is not None]
        sent.went_on.update(dict.fromkeys(ended, False))
        sent.write()
    done, doubtful = Delivery(), []
    unanswered, last = 0, None
    until = time.monotonic() + CALL_S
    for number, (row, has_ended) in enumerate(ahead):
        if time.monotonic() > until or unanswered == FAILURES_MAX:
            done.left += len(ahead) - number
            break
        failure = webhook.post(BODIES[webhook.kind](row, has_ended, webhook.routing_key))
        last = failure or last
        unanswered = unanswered + 1 if failure and failure.blame is Blame.SERVER else 0
        match failure:
            case None:
                sent.take(row)
                done.sent.append(row["finding_id"])
            case Failure(why, Blame.FINDING):
                sent.refuse(row, why)
                done.refused[row["finding_id"]] = why
            case Failure():
                doubtful.append((row, failure))
    for row, (why, blame) in doubtful:
        failures = sent.failures.get(row["finding_id"], 0) + 1
        if done.sent and (blame is Blame.ADDRESS or failures == CALLS_MAX):
            sent.refuse(row, why)
            done.refused[row["finding_id"]] = why
        else:
            sent.fail(row)
            done.left += 1
    if last is not None and (unanswered or not done.sent):
        raise NotDelivered(_sentence(webhook, done, last))
    return done


def _sentence(webhook: Webhook, done: Delivery, last: Failure) -> str:
    counts = [
        f"{number} {what}"
        for number, what in (
            (len(done.sent), "sent"),
            (len(done.refused), "refused for good"),
            (done.left, "left for the next call"),
        )
        if number
    ]
    return f"{webhook.host} refused a finding: {last.why}. Findings: {', '.join(counts)}."
