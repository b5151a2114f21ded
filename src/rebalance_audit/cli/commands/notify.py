"""`rebalance-audit notify`: new findings to a webhook."""

from pathlib import Path
from typing import Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import configured
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.source import LakeSource, Segments, takes_source
from rebalance_audit.report.notices.bodies import BODIES
from rebalance_audit.report.notices.delivery import Delivery, SentFindings, deliver, due
from rebalance_audit.report.notices.webhook import Webhook
from rebalance_audit.sentences import words
from rebalance_audit.visible import shortened, visible

SEVERITIES: Final = ("critical", "warning", "info")
PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"

EXAMPLES: Final = """\b
Examples:
  rebalance-audit notify --lake /data/lake --url @slack-url --format slack --sent sent.json
  rebalance-audit notify --lake /data/lake --routing-key @key --format pagerduty --sent sent.json
  rebalance-audit notify copy-of-log --url http://127.0.0.1:8080/ --sent sent.json --dry-run
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--url",
    type=options.Parsed(options.secret),
    metavar="URL|@FILE",
    help="URL of the webhook, or a file that contains it. [default with pagerduty: its Events API]",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(sorted(BODIES)),
    default="json",
    show_default=True,
    help="Payload format.",
)
@click.option(
    "--routing-key",
    type=options.Parsed(options.secret),
    metavar="KEY|@FILE",
    help="PagerDuty integration key.",
)
@options.path(
    "--sent", "sent_file", required=True, text="File of what was already sent; one per webhook."
)
@click.option(
    "--severity",
    type=click.Choice(SEVERITIES),
    default="warning",
    show_default=True,
    help="Minimum severity.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print what would be sent, with --json the payloads, and send nothing.",
)
@summarised()
@takes_source(options.broker_logs, options.broker_log_zone, options.end_offsets)
@configured
def notify(
    _invocation: object,
    /,
    source: Segments | LakeSource,
    url: str | None,
    kind: str,
    routing_key: str | None,
    sent_file: Path,
    severity: str,
    dry_run: bool,
    hand_out: HandOut,
) -> None:
    """Send each new finding to a webhook, once.

    The first call sends only findings that still hold at the end of the log and records the
    others in FILE as sent. PagerDuty alerts are resolved when their finding ends. A failed call can be repeated; a
    finding that the receiver refuses does not hold up the others. Payloads: docs/alerts.md.
    """
    if kind == "pagerduty":
        url = url or PAGERDUTY
        if not routing_key:
            raise click.UsageError("PagerDuty needs --routing-key.")
    if not url:
        raise click.UsageError("Nowhere to send findings: give --url.")
    webhook = Webhook(url, kind, routing_key or "")
    sent = SentFindings.read(sent_file)
    findings = source.gold().findings
    severities = SEVERITIES[: SEVERITIES.index(severity) + 1]
    if dry_run:
        ahead = due(findings, sent, severities, reports_ends=kind == "pagerduty")
        bodies = [BODIES[kind](row, has_ended, "(not shown)") for row, has_ended in ahead]
        named = (
            f"{row['severity']}: {row['kind']} of {shortened(row['group_id'] or 'the log')}"
            for row, _ in ahead
        )
        text = "\n".join(map(visible, named))
        hand_out({"dry_run": True, "bodies": bodies}, text or "No new findings to send.")
        return
    with slow_step("sending findings"):
        done = deliver(findings, sent, webhook, severities)
    refused = [{"finding_id": name, "why": why} for name, why in done.refused.items()]
    hand_out(
        {"dry_run": False, "sent": done.sent, "refused": refused, "left": done.left}, _text(done)
    )


def _text(done: Delivery) -> str:
    sent = words.counted(len(done.sent), "finding")
    lines = [f"{sent} sent." if done.sent else "No new findings to send."]
    lines += [
        f"{name} was refused and is not sent again: {why}." for name, why in done.refused.items()
    ]
    if done.left:
        lines.append(f"{words.counted(done.left, 'finding')} left for the next call.")
    return "\n".join(lines)
