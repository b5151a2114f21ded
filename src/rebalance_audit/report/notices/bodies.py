"""What a webhook gets about a finding, in the words of who receives it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rebalance_audit.audit.rows import Row
from rebalance_audit.tables.json_values import JSON_VERSION, json_value
from rebalance_audit.version import __version__
from rebalance_audit.visible import shortened, visible

_SLACK_HEADER_MAX: Final = 150
_SLACK_SECTION_MAX: Final = 3000
_PAGERDUTY_SUMMARY_MAX: Final = 1024
_NAME_MAX: Final = 100
"""Characters of a name in a title."""
_LISTED_NAME_MAX: Final = 500
"""Characters of a name in a list of PagerDuty's."""
_NAMES_MAX: Final = 50
_TEXT_MAX: Final = 10_000

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
    """A message of an incoming webhook; plain text throughout, since Slack's markup has no escape for `*` or `_`."""
    title = _title(finding) + (" (ended)" if ended else "")
    said = f"{visible(finding['detail'])}\n{visible(finding['advice'])}"
    context = f"{finding['severity']} · {_place(finding)} · since {json_value(finding['from_at'])}"
    return {
        # What a notification shows in place of the blocks.
        "text": _escaped(title),
        "mrkdwn": False,
        "blocks": [
            {"type": "header", "text": _plain(title, _SLACK_HEADER_MAX)},
            {"type": "section", "text": _plain(said, _SLACK_SECTION_MAX)},
            {"type": "context", "elements": [_plain(context, _SLACK_SECTION_MAX)]},
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
            "summary": shortened(
                f"{_title(finding)}: {visible(finding['detail'])}", _PAGERDUTY_SUMMARY_MAX
            ),
            "source": _place(finding),
            "severity": finding["severity"],
            "timestamp": json_value(finding["from_at"]),
            "component": _name(finding["group_id"] or "__consumer_offsets"),
            "group": _name(finding["cluster"]),
            "class": finding["kind"],
            "custom_details": {
                name: _readable(finding[name])
                for name in ("detail", "advice", "member_ids", "topics")
            },
        }
    return event


BODIES: Final[Mapping[str, Body]] = {"json": generic, "slack": slack, "pagerduty": pagerduty}
"""Format -> what makes its body."""


def _title(finding: Row) -> str:
    about = "the log" if finding["group_id"] is None else f"group {_name(finding['group_id'])}"
    return f"{finding['kind'].replace('_', ' ')}: {about}"


def _place(finding: Row) -> str:
    return f"{_name(finding['cluster'])}/{_name(finding['group_id'] or '__consumer_offsets')}"


def _name(name: str) -> str:
    """A name for people; the body for programs has it whole."""
    return shortened(visible(name), _NAME_MAX)


def _readable(value: str | list[str] | None) -> Any:
    """A text or a list of names as people can read it; of a large group the first names, and how many there are more.

    A receiver refuses a body that is too large, and with it the finding.
    """
    if not isinstance(value, list):
        return value and shortened(visible(value), _TEXT_MAX)
    names = [shortened(visible(name), _LISTED_NAME_MAX) for name in value[:_NAMES_MAX]]
    more = len(value) - len(names)
    return [*names, f"and {more} more"] if more else names


def _plain(text: str, at_most: int) -> dict[str, Any]:
    """A text object of Slack's without markup, mentions, links and `:smile:`."""
    return {"type": "plain_text", "text": shortened(text, at_most), "emoji": False}


def _escaped(text: str) -> str:
    """As Slack wants the text of a message, with links and mentions escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
