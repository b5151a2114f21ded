"""SEGMENTS audited for a command, with its progress and what became of the brokers' logs."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from rebalance_audit.audit.log_facts import LogFacts
from rebalance_audit.cli.audit_settings import AuditSettings
from rebalance_audit.cli.broker_log_files import print_file_notes
from rebalance_audit.cli.deploy_files import print_deploy_notes
from rebalance_audit.cli.output import echo
from rebalance_audit.cli.progress import slow_progress

if TYPE_CHECKING:
    from rebalance_audit.local.audit import Audit

LEFT_OUT_SHOWN: Final = 10
"""Of groups that are left out, so many have a sentence: adding partitions may move half of them."""


def audit_with_progress(
    segments: Path | str,
    group_ids: Collection[str],
    broker_logs: tuple[Path, ...],
    settings: AuditSettings,
) -> "Audit":
    """Raises what `audit_segments` raises."""
    from rebalance_audit.local.audit import audit_segments  # noqa: PLC0415 - a lake needs none of it

    with slow_progress() as on_progress:
        audit = audit_segments(
            segments, group_ids, broker_logs, **settings._asdict(), on_progress=on_progress
        )
    print_input_notes(audit.facts)
    return audit


def print_input_notes(facts: LogFacts) -> None:
    """What became of the brokers' logs and of the files of rollouts, and which groups are left out."""
    for sentence in facts.left_out[:LEFT_OUT_SHOWN]:
        echo(f"Warning: {sentence}", err=True)
    if len(facts.left_out) > LEFT_OUT_SHOWN:
        echo(f"Warning: {len(facts.left_out) - LEFT_OUT_SHOWN:,} more groups like that.", err=True)
    print_file_notes(facts.broker_logs)
    print_deploy_notes(facts.deploys)


def refuse_files_of_segments(
    broker_logs: tuple[Path, ...], end_offsets: tuple[Path, ...] = ()
) -> None:
    """Raises click.UsageError for files that only an audit of SEGMENTS can use: a command that reads a lake."""
    if broker_logs:
        raise click.UsageError("--broker-log goes with SEGMENTS; for a lake give it to `run`.")
    if end_offsets:
        raise click.UsageError("--end-offsets goes with SEGMENTS.")
