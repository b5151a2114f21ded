"""The plan as a page to work through, and as the files of a new folder."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rebalance_audit.new_file import replacing
from rebalance_audit.recover.account import GroupAccount, PartitionAccount, UncertainOffset
from rebalance_audit.recover.plan import (
    NotPlanned,
    PlannedPartition,
    RecoveryPlan,
    elsewhere,
    file_name,
    member_count,
    type_name,
)
from rebalance_audit.recover.reset_file import Unsaid
from rebalance_audit.recover.steps import RecoveryStep, steps_of
from rebalance_audit.replay.groups import CommittedOffset
from rebalance_audit.report.explained import literal
from rebalance_audit.sentences import words
from rebalance_audit.visible import shortened
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC

GROUPS_LISTED: Final = 200
"""plan.json has all."""
LEFT_OUT_SHOWN: Final = 50

_WHY: Final = {
    Unsaid.NO_SUCH_TOPIC: "no topic can have this name or number",
    Unsaid.NEGATIVE_OFFSET: "the tool refuses negative offsets",
    Unsaid.EMPTY_GROUP_ID: "the tool cannot describe a group with an empty id; an admin client's"
    " `alterConsumerGroupOffsets` can set it",
    Unsaid.NUL_IN_GROUP_ID: "no argument can hold U+0000; an admin client's `alterConsumerGroupOffsets` can set it",
}


def readme_of(plan: RecoveryPlan) -> str:
    """Markdown; names from the log are text in it, whatever stands in them."""
    lines = ["# Recovery plan", "", *map(_partition, plan.partitions)]
    if plan.release is not None:
        lines += ["", f"Judged by how Kafka {plan.release} loads it."]
    lines += [
        "",
        "Nothing has been changed so far. Only the commands under *Set the offsets* write.",
        "",
        "| file | holds |",
        "|---|---|",
        *(
            f"| `{file_name(place)}` | {words.counted(len(file.rows), 'certain offset')} of "
            f"{words.counted(len(file.group_ids), 'group')}, for `--from-file` |"
            for place, file in enumerate(plan.files)
        ),
        "| `uncertain.csv` | what is not certain, next to the certain offset; not input for the tool |",
        "| `plan.json` | the whole plan for programs, with commit times, metadata and leader epochs |",
        "",
        *_before(plan),
        "## Steps",
        "",
    ]
    for number, step in enumerate(steps_of(plan), 1):
        lines += _step(number, step)
    lines += ["## Groups", "", *_groups(plan), "", "## What the tool does not restore", ""]
    lines += [f"- {sentence}" for sentence in _losses(plan)]
    if plan.left_out:
        lines += ["", "Left out of the files:", "", *_left_out(plan.left_out)]
    return "\n".join(lines) + "\n"


def plan_summary(plan: RecoveryPlan) -> str:
    """The counts in one sentence."""
    return (
        f"{words.counted(plan.group_count, 'group')}: {words.counted(plan.certain_count, 'certain offset')},"
        f" {plan.uncertain_count:,} uncertain."
    )


def _partition(planned: PlannedPartition) -> str:
    account = planned.account
    problem = "loads." if planned.problem is None else literal(planned.problem)
    if planned.problem is None and account.cut_offset is not None:
        problem = (
            "loads, but some of it cannot be read, or its offsets go backwards; a broker that starts after a crash"
            " truncates a log before damage."
        )
    text = f"- Partition {account.log_partition} of `{OFFSETS_TOPIC}` {problem}"
    if account.cut_offset is None:
        return f"{text} Its offsets are certain, except those of open transactions."
    if account.certain_until_ms is None:
        return f"{text} No record before it is certain."
    return (
        f"{text} Records before offset {account.cut_offset:,} are certain; the last of them is from"
        f" {words.utc(account.certain_until_ms)}."
    )


def _before(plan: RecoveryPlan) -> Iterator[str]:
    if plan.files:
        yield "Run the commands in this folder, in bash:"
        yield ""
        yield "```sh"
        yield "export BOOTSTRAP=HOST:9092 LC_ALL=C.UTF-8"
        yield "```"
        yield ""
        yield (
            "Add `--command-config FILE` to each if the cluster requires authentication. Some packages name the tools"
            " without `.sh`."
        )
        yield ""
    else:
        yield "No certain offset can be set: there is nothing for `--reset-offsets` to do."
        yield ""


def _step(number: int, step: RecoveryStep) -> Iterator[str]:
    yield f"### {number}. {step.title}"
    yield ""
    for sentence in step.sentences:
        yield sentence
        yield ""
    if step.commands:
        yield "```sh"
        yield from step.commands
        yield "```"
        yield ""


def _groups(plan: RecoveryPlan) -> Iterator[str]:
    groups = [*plan.groups]
    for account in groups[:GROUPS_LISTED]:
        yield f"- {literal(shortened(account.group_id)) or '(empty id)'}: {_held(account)}"
    if len(groups) > GROUPS_LISTED:
        yield f"- {len(groups) - GROUPS_LISTED:,} more in `plan.json`"
    if not groups:
        yield "None: no record before the end of the log names a group that exists or has offsets."


def _held(account: GroupAccount) -> str:
    parts = [f"{type_name(account) or 'type unknown'}"]
    if members := member_count(account):
        parts.append(words.counted(members, "member"))
    parts.append(
        words.counted(len(account.certain), "certain offset")
        if account.certain
        else "no certain offset: nothing to restore"
    )
    if account.uncertain:
        parts.append(f"{len(account.uncertain):,} uncertain")
    kept = elsewhere(account)
    return ", ".join(parts) + "." + (f" {kept}" if kept else "")


def _losses(plan: RecoveryPlan) -> Iterator[str]:
    yield ("Members and assignments: groups form again, and epochs and generations start over.")
    yield (
        "Commit times: retention (`offsets.retention.minutes`) counts from when the offsets are set."
    )
    yield "Leader epochs of commits: without them, a consumer cannot detect that its topic has been truncated since."
    if plan.has_metadata:
        yield "Commit metadata: some have it. `plan.json` keeps it; Kafka Streams stores timestamps of its tasks there."
    if plan.old:
        yield (
            f"Older than 7 days at the end of the log: {words.counted(plan.old, 'certain offset')}. With default"
            " retention, a broker soon removes such offsets of empty groups."
        )


def _left_out(left_out: tuple[NotPlanned, ...]) -> Iterator[str]:
    for row, why in left_out[:LEFT_OUT_SHOWN]:
        name = literal(shortened(row.group_id)) or "(empty id)"
        at = f"{literal(shortened(row.topic))} {row.partition}"
        yield f"- {name}, {at}, offset {row.committed_offset}: {_WHY[why]}."
    if len(left_out) > LEFT_OUT_SHOWN:
        yield f"- {len(left_out) - LEFT_OUT_SHOWN:,} more in `plan.json`"


UNCERTAIN_COLUMNS: Final = (
    "group",
    "topic",
    "partition",
    "reason",
    "certain_offset",
    "uncertain_offset",
    "log_offset",
    "committed_at",
    "producer_id",
)


def plan_shape(plan: RecoveryPlan) -> dict[str, Any]:
    """The plan for programs."""
    return {
        "release": plan.release,
        "partitions": [
            {
                "partition": each.account.log_partition,
                "problem": each.problem,
                "certain_before_offset": each.account.cut_offset,
                "certain_until": words.iso(each.account.certain_until_ms),
                "log_end": words.iso(each.account.last_ms),
                "not_read": each.account.undecodable,
                "groups": [_group(group) for group in each.account.groups],
            }
            for each in plan.partitions
        ],
        "files": [
            {"name": file_name(place), "offsets": len(file.rows), "groups": file.group_ids}
            for place, file in enumerate(plan.files)
        ],
        "left_out": [{**row._asdict(), "reason": why.value} for row, why in plan.left_out],
        "steps": [step._asdict() for step in steps_of(plan)],
    }


def write_plan(folder: Path, plan: RecoveryPlan, shape: bytes) -> list[str]:
    """Write all files into a folder that is new or empty; `shape` is plan.json. Returns their names. Raises OSError.

    The page comes last: a folder without it is not finished.
    """
    files = {
        **{file_name(place): file.text.encode() for place, file in enumerate(plan.files)},
        "uncertain.csv": _uncertain(plan).encode(),
        "plan.json": shape,
        "README.md": readme_of(plan).encode(),
    }
    for name, content in files.items():
        with replacing(folder / name) as new:
            new.write_bytes(content)
    return [*files]


def _group(account: GroupAccount) -> dict[str, Any]:
    return {
        "group_id": account.group_id,
        "type": type_name(account),
        "members": member_count(account),
        "note": elsewhere(account),
        "certain": [
            {"topic": topic, "partition": number, **_commit(commit)}
            for (topic, number), commit in sorted(account.certain.items())
        ],
        "uncertain": [_doubted(each) for each in account.uncertain],
    }


def _doubted(each: UncertainOffset) -> dict[str, Any]:
    topic, number = each.topic_partition
    return {
        "topic": topic,
        "partition": number,
        "reason": each.doubt.value,
        "certain_offset": None if each.certain is None else each.certain.committed_offset,
        "producer_id": each.producer_id,
        "found": None if each.found is None else _commit(each.found),
    }


def _commit(commit: CommittedOffset) -> dict[str, Any]:
    return {
        "offset": commit.committed_offset,
        "leader_epoch": None if commit.leader_epoch < 0 else commit.leader_epoch,
        "metadata": commit.commit_metadata,
        "committed_at": _moment(commit.commit_timestamp_ms),
        "expires_at": _moment(commit.expire_timestamp_ms),
        "log_offset": commit.log_offset,
    }


def _moment(timestamp_ms: int) -> str | None:
    return None if timestamp_ms < 0 else words.iso(timestamp_ms)


def _uncertain(plan: RecoveryPlan) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(UNCERTAIN_COLUMNS)
    for each in plan.partitions:
        writer.writerows(_uncertain_rows(each.account))
    return out.getvalue()


def _uncertain_rows(account: PartitionAccount) -> Iterator[list[Any]]:
    """One row for each; a cell is empty where there is nothing to say."""
    for group in account.groups:
        for at, doubt, found, certain, producer_id in group.uncertain:
            yield [
                group.group_id,
                *at,
                doubt.value,
                None if certain is None else certain.committed_offset,
                None if found is None else found.committed_offset,
                None if found is None else found.log_offset,
                None if found is None else _moment(found.commit_timestamp_ms),
                producer_id,
            ]
