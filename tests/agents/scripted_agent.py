"""An agent without a model: it asks the server about an incident by a fixed script, and claims what the answers say.

It shows that the answers suffice. `python -m tests.agents.scripted_agent --write` writes the table of docs/agents.md.
"""

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp import Client
from mcp.types import TextContent

from rebalance_audit.agents.server import server_over
from tests.cli.audited import audited_once
from tests.cli.call import CAPTURES, segments

PAGE: Final = Path(__file__).parents[2] / "docs" / "agents.md"
BEGIN: Final = "<!-- incidents: begin -->"
END: Final = "<!-- incidents: end -->"
OTHER_NAMES: Final = {
    "static_member_expired": "member_session_expired",
    "cooperative_follow_up": "subscription_changed",
}
"""Causes that the broker's reasons do not separate.

A session that expired may be a static member's; a cooperative member that joins again after a revocation is logged as
one that updates its metadata.
"""
LATER: Final = timedelta(seconds=1)
"""When a rebalance is noticed."""
AROUND: Final = timedelta(seconds=30)
"""How exactly people remember when it was."""


class Incident(NamedTuple):
    """What somebody asks about: a group, and about when."""

    capture: str
    group: str
    epoch: int
    """By which the broker's words are found; the agent does not hear of it."""


INCIDENTS: Final = (
    Incident("consumer-protocol", "slow", 3),
    Incident("consumer-protocol", "stuck", 4),
    Incident("consumer-protocol", "alpha", 6),
    Incident("consumer-protocol", "beta", 5),
    Incident("consumer-protocol", "regex", 3),
    Incident("consumer-static", "fleet", 6),
    Incident("classic-static", "crew", 2),
    Incident("classic-static", "fleet", 3),
    Incident("classic-cooperative", "coop", 5),
    Incident("failover", "klassik", 3),
)


class Claim(NamedTuple):
    """What the agent says."""

    cause: str
    certainty: str
    not_excluded: frozenset[str]
    culprit: str | None
    calls: int
    largest_bytes: int
    """Of its answers."""


class Judged(NamedTuple):
    """A claim beside the broker's words."""

    incident: Incident
    claim: Claim
    truth: frozenset[str]

    @property
    def cause(self) -> str:
        """In the broker's words."""
        return OTHER_NAMES.get(self.claim.cause, self.claim.cause)

    @property
    def is_right(self) -> bool:
        """The cause that the broker named; or *member departed*, with that cause among the ways it may have."""
        in_kind = self.cause == "member_departed" and self.truth & self.claim.not_excluded
        return self.cause in self.truth or bool(in_kind)

    @property
    def is_false(self) -> bool:
        """Proven and another cause, or without the true one among those that it does not exclude."""
        if self.cause in self.truth:
            return False
        return self.claim.certainty == "proven" or not self.truth & self.claim.not_excluded


class ScriptedAgent:
    """Asks `why` about the moment; if no rebalance covers it, looks around it with `incident` and asks once more."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._calls, self._largest = 0, 0

    async def investigate(self, group: str, moment: datetime) -> Claim:
        """Its claim about the rebalance of a group at about that time."""
        found = await self._ask("why", group=group, moment=moment.isoformat())
        if not found["covers_the_moment"]:
            start, end = (moment - AROUND).isoformat(), (moment + AROUND).isoformat()
            around = await self._ask("incident", group=group, start=start, end=end)
            nearest = min(
                (_within(row, moment) for row in around["rebalances"]),
                key=lambda at: abs(at - moment),
            )
            found = await self._ask("why", group=group, moment=nearest.isoformat())
        of_moment = [row for row in found["causes"] if row["epoch"] == found["epoch_at_moment"]]
        cause = of_moment[0]
        held_up_by = found["rebalance"]["held_up_by"]
        return Claim(
            cause["cause"],
            cause["certainty"],
            frozenset(cause["not_excluded"]),
            held_up_by[0]["member"] if held_up_by else None,
            self._calls,
            self._largest,
        )

    async def _ask(self, tool: str, **arguments: str) -> Any:
        result = await self._client.call_tool(tool, arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert not result.is_error, content.text
        self._calls += 1
        self._largest = max(self._largest, len(content.text.encode()))
        return json.loads(content.text)


def _within(rebalance: dict[str, Any], moment: datetime) -> datetime:
    """The moment, moved into the rebalance."""
    began, ended = (rebalance[column] for column in ("started_at", "ended_at"))
    at = max(moment, datetime.fromisoformat(began))
    return at if ended is None else min(at, datetime.fromisoformat(ended))


def judged(*, with_broker_log: bool = False) -> list[Judged]:
    """All incidents: from the records alone, or with the log of the broker as well."""
    return asyncio.run(_judged(with_broker_log=with_broker_log))


async def _judged(*, with_broker_log: bool) -> list[Judged]:
    found = []
    for capture in dict.fromkeys(incident.capture for incident in INCIDENTS):
        logs = [CAPTURES / capture / "server.log.gz"] if with_broker_log else []
        audit = audited_once(segments(capture), (), logs)
        async with Client(server_over(audit)) as client:
            for incident in (each for each in INCIDENTS if each.capture == capture):
                at_ms, truth = _truth(incident)
                moment = datetime.fromtimestamp(at_ms / 1000, UTC) + LATER
                claim = await ScriptedAgent(client).investigate(incident.group, moment)
                found.append(Judged(incident, claim, truth))
    return found


def _truth(incident: Incident) -> tuple[int, frozenset[str]]:
    """When the broker gave its reason (epoch ms), and the causes that this reason allows."""
    lines = (CAPTURES / incident.capture / "truth.jsonl").read_text("utf-8").splitlines()
    first = next(
        row
        for row in map(json.loads, lines)
        if (row["group"], row["epoch"]) == (incident.group, incident.epoch)
    )
    return first["t_ms"], frozenset(first["cause"].split("|"))


def table(alone: list[Judged], logged: list[Judged]) -> str:
    """The table of docs/agents.md."""
    head = [
        "capture, group",
        "the broker's reason",
        "from the records alone",
        "with the broker's log",
    ]
    head += ["held up by", "calls", "largest answer"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for one, other in zip(alone, logged, strict=True):
        reason = " or ".join(f"`{cause}`" for cause in sorted(one.truth))
        culprit = (one.claim.culprit or "–").strip("«»")
        largest = max(one.claim.largest_bytes, other.claim.largest_bytes)
        lines.append(
            f"| {one.incident.capture}, `{one.incident.group}` | {reason} | {_said(one)} | {_said(other)} | {culprit} "
            f"| {one.claim.calls} | {largest / 1000:.1f} kB |"
        )
    sums = [
        f"{name}: {sum(each.is_right for each in found)} of {len(found)} right, "
        f"{sum(each.is_false for each in found)} false claims, {sum(each.claim.calls for each in found)} calls"
        for name, found in (("From the records alone", alone), ("with the broker's log", logged))
    ]
    return "\n".join([*lines, "", f"{'; '.join(sums)}."])


def _said(judged: Judged) -> str:
    claim = judged.claim
    said = f"`{claim.cause}`, {claim.certainty}"
    if judged.cause in judged.truth:
        return said
    return f"{said}; {'the true one is not excluded' if not judged.is_false else '**false**'}"


def page_with(alone: list[Judged], logged: list[Judged]) -> str:
    """docs/agents.md with this table."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{table(alone, logged)}\n\n{END}{after}"


if __name__ == "__main__":
    both = judged(), judged(with_broker_log=True)
    if "--write" in sys.argv:
        PAGE.write_text(page_with(*both), encoding="utf-8")
    else:
        sys.stdout.write(table(*both) + "\n")
