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
        _warn(f"{len(facts.left_out) - LEFT_OUT_SHOWN:,} more groups like that.")
    print_file_notes(facts.broker_logs)
    print_deploy_notes(facts.deploys)


def print_file_notes(files: Sequence[BrokerLogFile]) -> None:
    """One sentence a file on stderr; a warning where a file has no usable line of a coordinator."""
    useless = 0
    for each in files:
        useless += each.is_useless
        if not each.is_useless:
            echo(visible(each.sentence), err=True)
        elif useless <= _USELESS_SHOWN:
            _warn(each.sentence)
    if useless > _USELESS_SHOWN:
        _warn(f"{useless - _USELESS_SHOWN:,} more files without a usable line of a coordinator.")


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
        if each.dropped:
            read_items = words.counted(sum(each.items.values()) + each.dropped, "item")
            what = f"{read_items} read, {each.dropped:,} dropped; the first: {each.why_dropped}"
            _warn(f"{each.file}: {what}.")
        elif each.is_useless:
            _warn(f"{each.file} holds nothing that shows a deploy.")
        if each.unread:
            lines = words.counted(each.unread, "line")
            _warn(f"{each.file}: {lines} without JSON, the first is line {each.first_unread}.")
    if not read.deploys:
        _warn("no deploy found in the files of --deploys.")
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
    echo(f"{counted}, {with_pods:,} with pods; {began}.", err=True)
    if read.left_out:
        left_out = words.counted(read.left_out, "earlier deploy")
        _warn(f"{left_out} left out: at most {len(read.deploys):,} are matched.")


def _warn(text: str) -> None:
    echo(visible(f"Warning: {text}"), err=True)


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
