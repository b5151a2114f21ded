"""`rebalance-audit explain`: why a group rebalanced, how long it took and who held it up, in sentences."""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import click

from rebalance_audit.audit.broker_log.file_report import BrokerLogFile
from rebalance_audit.cli import options
from rebalance_audit.cli.input_notes import deploys_of_lake, file_for_programs
from rebalance_audit.cli.invocation import configured
from rebalance_audit.cli.output import document, echo
from rebalance_audit.cli.paging import paged_console
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.source import LakeSource, Segments, takes_source
from rebalance_audit.cli.tables_json import row_for_programs
from rebalance_audit.cli.times import now_for_people, require_within_log
from rebalance_audit.errors import BadRequest, require_known
from rebalance_audit.figures.rows import Tables
from rebalance_audit.report.explained import (
    Explained,
    explanation_of,
    markdown_of,
    with_names,
)
from rebalance_audit.report.explanation import (
    Explanation,
    explain_group,
)
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.terminal.layout import ConsoleReport, cell
from rebalance_audit.sentences.sentence import EvidenceSentence, MomentUtc, Sentence

EXAMPLES: Final = """\b
Examples:
  rebalance-audit explain copy-of-log checkout
  rebalance-audit explain copy-of-log checkout --epoch 17
  rebalance-audit explain --lake /data/lake checkout --at 2026-11-21T03:12Z
  rebalance-audit explain copy-of-log checkout --epoch 17 --markdown
"""

AGED: Final = ("In short", "The last rebalance")
"""Sections with the age of their times, for people."""

_TABLE_OF: Final = {
    "epoch": "epochs",
    "rebalance": "rebalances",
    "rebalances": "rebalances",
    "causes": "rebalance_causes",
    "convergence": "convergence",
    "findings": "findings",
    "deploys": "deploys",
}
"""Name among the rows of an explanation -> gold table."""


@click.command(epilog=EXAMPLES)
@takes_source(
    options.broker_logs,
    options.broker_log_zone,
    options.end_offsets,
    options.deploys,
    of_group=True,
)
@click.option("--epoch", "epoch_number", type=int, metavar="N", help="This epoch or generation.")
@click.option(
    "--epochs",
    "every_epoch",
    is_flag=True,
    help="Also one sentence per epoch or generation, newest first.",
)
@options.time_option(
    "--at", "at_ms", text="The epoch at this time, and the state of the group then."
)
@click.option(
    "--incarnation",
    type=int,
    metavar="N",
    help="This incarnation of the group id. [default: the last]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object: sentences and their rows."
)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for a ticket.")
@configured
def explain(
    _invocation: object,
    /,
    source: Segments | LakeSource,
    group_id: str,
    epoch_number: int | None,
    every_epoch: bool,
    at_ms: int | None,
    incarnation: int | None,
    as_json: bool,
    as_markdown: bool,
) -> None:
    """Explain why GROUP rebalanced, how long it took, who held it up, and what is unknown.

    From SEGMENTS in this process, or from the tables of a lake. Without --epoch and --at: the group as a
    whole, with its longest and its last rebalance.

    Terms: docs/glossary.md.
    """
    if epoch_number is not None and at_ms is not None:
        raise click.UsageError("Give --epoch or --at, not both.")
    if incarnation is not None and epoch_number is None:
        raise click.UsageError("--incarnation goes with --epoch.")
    if every_epoch and (epoch_number is not None or at_ms is not None):
        raise click.UsageError(
            "--epochs is about the group as a whole; leave --epoch and --at out."
        )
    if as_json and as_markdown:
        raise click.UsageError("Give --json or --markdown, not both.")
    own, cluster, end_ms, files = _rows_of(source, group_id)
    require_within_log("--at", at_ms, end_ms)
    if not own["epochs"]:
        raise click.UsageError(f"The log has no epoch of {group_id!r}, so it cannot be explained.")
    has_log = bool(files)
    try:
        explanation = (
            explain_group(own, end_ms, every_epoch=True, has_broker_log=has_log)
            if every_epoch
            else explanation_of(
                own, epoch_number, at_ms, end_ms, incarnation, has_broker_log=has_log
            )
        )
    except BadRequest as error:
        hint = "--epoch" if at_ms is None else "--at"
        raise click.BadParameter(str(error), param_hint=hint) from error
    if as_json:
        shown = partial(MemberNames(own["members"]).in_sentence, group_id)
        said = with_names(explanation, shown)
        sys.stdout.buffer.write(_json(said, explanation.rows, cluster, files))
    elif as_markdown:
        text = markdown_of(explanation, group_id, MemberNames(own["members"]), end_ms)
        echo(text.rstrip("\n"))
    else:
        with paged_console() as console:
            _print(
                ConsoleReport(console, own, end_ms), explanation, group_id, end_ms, now_for_people()
            )


def _rows_of(
    source: Segments | LakeSource, group_id: str
) -> tuple[Tables, str, int | None, Sequence[BrokerLogFile]]:
    """Rows of the group, the cluster's name, the log's end (epoch ms), what became of the brokers' logs."""
    if isinstance(source, Segments):
        audit = source.gold((group_id,))
        return audit.tables, audit.cluster, audit.facts.last_ms, audit.facts.broker_logs
    path, cluster = source.path, source.one_cluster(group_id)
    from rebalance_audit.readers import gold  # noqa: PLC0415 - imports Arrow

    with slow_step("reading the lake"):
        tables = gold.group_tables(path, cluster, group_id)
        tables |= deploys_of_lake(path, [cluster], source.deploys, [group_id])
    if not tables["group_states"]:
        require_known((group_id,), gold.group_ids(path, cluster))
    return tables, cluster, gold.log_end_ms(path, cluster), ()


def _print(
    layout: ConsoleReport,
    explanation: Explanation,
    group_id: str,
    end_ms: int | None,
    now_ms: int | None,
) -> None:
    heading = explanation.heading.aged(now_ms)
    layout.line(cell(layout.names.in_sentence(group_id, heading), "bold"))
    for place, section in enumerate(explanation.sections):
        # The answer stands right below the heading.
        if place:
            layout.line()
            layout.line(cell(section.title, "bold"))
        for sentence in section.sentences:
            style = "dim" if isinstance(sentence, EvidenceSentence) else ""
            aged = sentence.aged(now_ms) if section.title in AGED else sentence
            layout.paragraph(layout.names.in_sentence(group_id, aged), style, indent=2)
    if end_ms is not None:
        layout.line()
        layout.line(Sentence(("Log ends at ", MomentUtc(end_ms), ".")).aged(now_ms))
    layout.words()


def _json(
    said: Explained, rows: Mapping[str, Any], cluster: str, files: Sequence[BrokerLogFile]
) -> bytes:
    """Sentences name members as the text does; rows have their ids."""
    shape: dict[str, Any] = {
        "heading": said.heading,
        "sections": [section._asdict() for section in said.sections],
    }
    if files:
        shape["broker_logs"] = [file_for_programs(each) for each in files]
    for name, found in rows.items():
        table = _TABLE_OF[name]
        if found is None or isinstance(found, Mapping):
            shape[name] = None if found is None else row_for_programs(table, found, cluster)
        else:
            shape[name] = [row_for_programs(table, row, cluster) for row in found]
    return document(shape)
