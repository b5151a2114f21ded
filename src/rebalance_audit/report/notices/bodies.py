"""What a webhook gets about a finding, in the words of who receives it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rebalance_audit.audit.rows import Row
from rebalance_audit.tables.json_values import JSON_VERSION, json_value
from rebalance_audit.version import __version__

_SLACK_SECTION_MAX: Final = 3000
_PAGERDUTY_SUMMARY_MAX: Final = 1024

Body: TypeAlias = Callable[[Row, bool, str], dict[str, Any]]
"""Takes a row of gold.findings, whether the finding has ended since it was sent, and a routing key."""


def generic(finding: Row, ended: bool, _routing_key: str = "") -> dict[str, Any]:
    """The row with every column, times as ISO 8601."""
    return {
        "schema_version": JSON_VERSION,
        "sender": f"rebalance-audit {__version__}",
        "event": "finding_ended" if ended else "finding",
        "finding": {name: json_value(value) for name, value in finding.items()},
    }


def slack(finding: Row, ended: bool, _routing_key: str = "") -> dict[str, Any]:
    """A message of an incoming webhook, in Slack's markup."""
    title = _title(finding) + (" (ended)" if ended else "")
    text = f"{_escaped(finding['detail'])}\n_{_escaped(finding['advice'])}_"
    context = f"{finding['severity']} · {_place(finding)} · since {json_value(finding['from_at'])}"
    return {
        "text": _escaped(title),
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": title[:150]}},
            {
                "type": "section",
                "text": {"type": "mrkdwn", "text": text[:_SLACK_SECTION_MAX]},
            },
            {
                "type": "context",
                "elements": [{"type": "mrkdwn", "text": _escaped(context)[:_SLACK_SECTION_MAX]}],
            },
        ],
    }


def pagerduty(finding: Row, ended: bool, routing_key: str) -> dict[str, Any]:
    """An event of the Events API v2; the finding's id keeps repeated events together, and lets its end resolve it."""
    event: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": "resolve" if ended else "trigger",
        "dedup_key": finding["finding_id"],
    }
    if not ended:
        event["payload"] = {
            "summary": f"{_title(finding)}: {finding['detail']}"[:_PAGERDUTY_SUMMARY_MAX],
            "source": _place(finding),
            "severity": finding["severity"],
            "timestamp": json_value(finding["from_at"]),
            "component": finding["group_id"] or "__consumer_offsets",
            "group": finding["cluster"],
            "class": finding["kind"],
            "custom_details": {
                name: json_value(finding[name])
                for name in ("detail", "advice", "member_ids", "topics")
            },
        }
    return event


BODIES: Final[Mapping[str, Body]] = {"json": generic, "slack": slack, "pagerduty": pagerduty}
"""Format -> what makes its body."""


def _title(finding: Row) -> str:
    about = "the log" if finding["group_id"] is None else f"group {finding['group_id']}"
    return f"{finding['kind'].replace('_', ' ')}: {about}"


def _place(finding: Row) -> str:
    return f"{finding['cluster']}/{finding['group_id'] or '__consumer_offsets'}"


def _escaped(text: str) -> str:
    """As Slack's markup wants it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
