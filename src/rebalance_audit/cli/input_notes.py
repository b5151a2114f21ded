"""What became of the input besides the log: sentences on stderr about brokers' logs, rollouts and groups left out."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from rebalance_audit.audit.broker_log.file_report import BrokerLogFile
from rebalance_audit.audit.deploys.read import DeploysRead
from rebalance_audit.audit.log_facts import LogFacts
from rebalance_audit.audit.rows import DEPLOYS, Row
from rebalance_audit.cli.output import echo
from rebalance_audit.local.given_files import read_deploys
from rebalance_audit.sentences import words
from rebalance_audit.sentences.words import iso
from rebalance_audit.visible import visible

LEFT_OUT_SHOWN: Final = 10
"""Of groups that are left out, so many have a sentence: adding partitions may move half of them."""
_USELESS_SHOWN: Final = 10
"""Of files without a usable line, so many have a sentence: folders hold many other logs."""


def print_input_notes(facts: LogFacts) -> None:
    """What became of the brokers' logs and of the files of rollouts, and which groups are left out."""
    for sentence in facts.left_out[:LEFT_OUT_SHOWN]:
        echo(f"Warning: {sentence}", err=True)
    if len(facts.left_out) > LEFT_OUT_SHOWN:
        echo(f"Warning: {len(facts.left_out) - LEFT_OUT_SHOWN:,} more groups like that.", err=True)
    print_file_notes(facts.broker_logs)
    print_deploy_notes(facts.deploys)


def print_file_notes(files: Sequence[BrokerLogFile]) -> None:
    """One sentence a file on stderr; a warning where a file has no usable line of a coordinator."""
    left_out = 0
    useless = 0
    for each in files:
        if each.is_useless:
            useless += 1
            if useless > _USELESS_SHOWN:
                left_out += 1
                continue
        lead = "Warning: " if each.is_useless else ""
        echo(visible(f"{lead}{each.sentence}"), err=True)
    if left_out:
        echo(f"Warning: {left_out:,} more files without a usable line of a coordinator.", err=True)


def file_for_programs(each: BrokerLogFile) -> dict[str, Any]:
    """The figures of one file; times as ISO 8601."""
    fields = each._asdict()
    first_ms, last_ms = fields.pop("first_ms"), fields.pop("last_ms")
    return {
        **fields,
        "first_at": None if first_ms is None else iso(first_ms),
        "last_at": None if last_ms is None else iso(last_ms),
    }


def print_deploy_notes(read: DeploysRead) -> None:
    """One sentence a file, a warning where a file has nothing known, and one on all rollouts."""
    if not read.files:
        return
    for each in read.files:
        kept = sum(each.items.values())
        if each.dropped:
            read_items = words.counted(kept + each.dropped, "item")
            echo(
                visible(
                    f"Warning: {each.file}: {read_items} read, {each.dropped:,} dropped; the first: {each.why_dropped}."
                ),
                err=True,
            )
        elif each.is_useless:
            echo(visible(f"Warning: {each.file} holds nothing that shows a deploy."), err=True)
        if each.unread:
            lines = words.counted(each.unread, "line")
            echo(
                visible(
                    f"Warning: {each.file}: {lines} without JSON, the first is line {each.first_unread}."
                ),
                err=True,
            )
    if not read.deploys:
        echo("Warning: no deploy found in the files of --deploys.", err=True)
        return
    with_pods = sum(bool(deploy.pods) for deploy in read.deploys)
    first_ms, last_ms = read.deploys[0].started_ms, read.deploys[-1].started_ms
    began = f"began {words.utc(first_ms)}"
    if last_ms != first_ms:
        began = f"began between {words.utc(first_ms)} and {words.utc(last_ms)}"
    kinds = Counter(str(deploy.kind) for deploy in read.deploys)
    names = {"scaling": "scaling", "eviction": "eviction", "crash": "crash restart"}
    others = (words.counted(kinds[kind], name) for kind, name in names.items() if kinds[kind])
    counted = ", ".join((words.counted(kinds["rollout"], "deploy"), *others))
    echo(
        f"{counted}, {with_pods:,} with pods; {began}.",
        err=True,
    )
    if read.left_out:
        echo(
            f"Warning: {words.counted(read.left_out, 'earlier deploy')} left out: "
            f"at most {len(read.deploys):,} are matched.",
            err=True,
        )


def deploys_of_lake(
    lake: str, clusters: Sequence[str], files: tuple[Path, ...], group_ids: Collection[str] = ()
) -> dict[str, list[Row]]:
    """The table `deploys` about these files, else as the lake has it; nothing where it has none.

    Raises SourceNotReadable and LakeNotReadable.
    """
    from rebalance_audit.readers.gold import (  # noqa: PLC0415 - imports Arrow
        matched_deploys,
        stored_deploys,
    )

    if files:
        read = read_deploys(files)
        print_deploy_notes(read)
        return {
            DEPLOYS: [
                {**row, "cluster": cluster}
                for cluster in clusters
                for row in matched_deploys(lake, cluster, read.deploys, group_ids)
            ]
        }
    stored = [stored_deploys(lake, cluster, group_ids) for cluster in clusters]
    there = [rows for rows in stored if rows is not None]
    return {DEPLOYS: list(chain.from_iterable(there))} if there else {}
