"""`rebalance-audit what-if`: a group's own history under other settings."""

import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import configured
from rebalance_audit.cli.output import document, echo
from rebalance_audit.cli.paging import paged_console
from rebalance_audit.cli.progress import slow_progress
from rebalance_audit.cli.script_source import Refused, ScriptSource, script_at
from rebalance_audit.cli.source import LAKE, SCRIPT, SEGMENTS, LakeSource, Segments, takes_source
from rebalance_audit.errors import BadRequest
from rebalance_audit.garbage import collecting_less
from rebalance_audit.new_file import replacing
from rebalance_audit.report.terminal.layout import ConsoleReport
from rebalance_audit.whatif.answer import evaluate
from rebalance_audit.whatif.answer_forms import (
    answer_object,
    markdown,
    print_answer,
    refused_object,
)
from rebalance_audit.whatif.script_file import script_text
from rebalance_audit.whatif.variant import Deploy, Variant, variants_of

EXAMPLES: Final = """\b
Examples:
  rebalance-audit what-if copy-of-log checkout
  rebalance-audit what-if copy-of-log checkout --static --session-timeout 90s
  rebalance-audit what-if --lake /data/lake checkout --from -7d --protocol consumer
  rebalance-audit what-if copy-of-log checkout --write-script checkout.json
  rebalance-audit what-if --script checkout.json --protocol consumer --json
"""
_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000}
_LENGTH: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|min|m|h)")


def _length_ms(text: str) -> int:
    """A duration in milliseconds. Raises BadRequest."""
    found = _LENGTH.fullmatch(text)
    milliseconds = 0 if found is None else round(float(found[1]) * _UNITS[found[2]])
    if not milliseconds:
        raise BadRequest(f"{text!r} is not a duration. Write 500ms, 90s, 5m or 1h.")
    return milliseconds


def _deploy(text: str) -> Deploy:
    """How deploys are done, of `rolling:30s` or `at-once`. Raises BadRequest."""
    if text == "at-once":
        return Deploy(None)
    way, _, pause = text.partition(":")
    if way != "rolling" or not pause:
        raise BadRequest(f"{text!r} is no way to deploy. Write rolling:30s or at-once.")
    return Deploy(_length_ms(pause))


def _length(*names: str, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(*names, type=options.Parsed(_length_ms), metavar="TIME", help=text)


@click.command(name="what-if", epilog=EXAMPLES)
@takes_source(
    options.path(
        "--script",
        "script_file",
        text="A script that --write-script wrote, in place of SEGMENTS; it names its group.",
    ),
    options.broker_logs,
    options.broker_log_zone,
    reads=(SEGMENTS, LAKE, SCRIPT),
    of_group=True,
)
@options.time_option("--from", "from_ms", text="Only what happened at this time or later.")
@options.time_option("--to", "to_ms", text="Only what happened before this time.")
@click.option(
    "--protocol", type=click.Choice(["classic", "consumer"]), help="Protocol of all members."
)
@click.option(
    "--assignor",
    metavar="NAME",
    help="range, roundrobin, sticky or cooperative-sticky; consumer protocol: uniform or range.",
)
@click.option(
    "--static/--dynamic",
    "is_static",
    default=None,
    help="Whether members have a group.instance.id.",
)
@_length("--session-timeout", "session_timeout_ms", text="session.timeout.ms, as 90s.")
@_length("--rebalance-timeout", "rebalance_timeout_ms", text="max.poll.interval.ms, as 5m.")
@_length("--heartbeat", "heartbeat_interval_ms", text="heartbeat.interval.ms, as 3s.")
@click.option("--members", type=click.IntRange(1, 10_000), metavar="N", help="Number of instances.")
@click.option(
    "--deploy",
    type=options.Parsed(_deploy),
    metavar="HOW",
    help="rolling:30s: one restart every 30 s; at-once: all instances together.",
)
@_length(
    "--was-session-timeout",
    "was_session_timeout_ms",
    text="Session timeout that the group had, if the log does not say.",
)
@_length(
    "--was-heartbeat",
    "was_heartbeat_ms",
    text="Heartbeat interval that it had; else taken from its reactions.",
)
@options.seeds
@options.path(
    "--write-script",
    text="Write what happened to the group to this file, to be read, edited and played again.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--markdown", "as_markdown", is_flag=True, help="The answer for a ticket.")
@configured
def what_if(
    _invocation: object,
    /,
    source: Segments | LakeSource | Path,
    group_id: str | None,
    write_script: Path | None,
    seeds: int | None,
    as_json: bool,
    as_markdown: bool,
    **asked: Any,
) -> None:
    """Simulate what the history of GROUP would have been under other settings.

    The group's members start, stop, crash and freeze as the log shows it, under the settings as they
    were, as the control, and under the changed ones. Without a change a table of sensible ones is tried.

    Where the control misses the log, and for groups that the simulator does not know, there is a sentence
    in place of advice.
    """
    if as_json and as_markdown:
        raise click.UsageError("Give --json or --markdown, not both.")
    change = Variant(**{each.name: asked.pop(each.name) for each in fields(Variant)})
    script = script_at(ScriptSource(source, group_id, **asked))
    if isinstance(script, Refused):
        if as_json:
            _print_object(refused_object(script.group_id, script.sentence))
        else:
            echo(f"{script.group_id}: {script.sentence}")
        return
    if write_script is not None:
        with replacing(write_script) as new:
            new.write_text(script_text(script), encoding="utf-8")
    changes = variants_of(script) if change.is_nothing else [change]
    with collecting_less(), slow_progress() as on_progress:
        found = evaluate(
            script, changes, seeds=seeds, ranked=change.is_nothing, on_progress=on_progress
        )
    if as_json:
        _print_object(answer_object(found))
    elif as_markdown:
        echo(markdown(found).rstrip("\n"))
    else:
        with paged_console() as console:
            print_answer(ConsoleReport(console), found)


def _print_object(shape: dict[str, Any]) -> None:
    sys.stdout.buffer.write(document(shape))
