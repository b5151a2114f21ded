"""The plan as files of a new folder."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rebalance_audit.new_file import replacing
from rebalance_audit.recover.account import GroupAccount, PartitionAccount, UncertainOffset
from rebalance_audit.recover.plan import (
    RecoveryPlan,
    elsewhere,
    file_name,
    member_count,
    type_name,
)
from rebalance_audit.recover.plan_text import readme_of
from rebalance_audit.recover.steps import steps_of
from rebalance_audit.replay.groups.slot import CommittedOffset
from rebalance_audit.sentences import words

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
