"""What a plan says, in its page, its files and its commands."""

import csv
import json
import os
from pathlib import Path

import pytest

from rebalance_audit.cli.output import document
from rebalance_audit.recover.account import (
    GroupAccount,
    OffsetDoubt,
    PartitionAccount,
    UncertainOffset,
)
from rebalance_audit.recover.plan import PlannedPartition, RecoveryPlan, plan_for
from rebalance_audit.recover.plan_files import plan_shape, plan_summary, readme_of, write_plan
from rebalance_audit.recover.steps import steps_of
from rebalance_audit.replay.groups import CommittedOffset
from tests.dsl import replayed

DAY_MS = 24 * 3600 * 1000
AT_MS = 1_790_000_000_000


def commit(committed: int, *, metadata: str = "", age_days: int = 0) -> CommittedOffset:
    """A committed offset."""
    return CommittedOffset(committed, -1, metadata, AT_MS - age_days * DAY_MS, -1, None, 12)


def group(
    group_id: str, *commits: CommittedOffset, lines: str = "", topic: str = "t"
) -> GroupAccount:
    """A group with a certain commit for each partition of the topic."""
    certain = {(topic, number): each for number, each in enumerate(commits)}
    return GroupAccount(group_id, replayed(lines).group if lines else None, certain, ())


def plan(*groups: GroupAccount, problem: str | None = "does not load.") -> RecoveryPlan:
    """For partition 3."""
    account = PartitionAccount(3, 99, AT_MS, AT_MS, 0, groups)
    return plan_for([PlannedPartition(account, problem)], "4.3")


def commands(of_plan: RecoveryPlan) -> dict[str, list[str]]:
    """By the step's name."""
    return {step.name: [*step.commands] for step in steps_of(of_plan)}


def test_commands_in_order() -> None:
    """Nothing is written before the dry run has been looked at."""
    found = commands(plan(group("a", commit(5)), group("it's", commit(6))))
    tool = 'kafka-consumer-groups.sh --bootstrap-server "$BOOTSTRAP"'
    names = """--group a --group 'it'"'"'s'"""
    assert found == {
        "another-copy": [],
        "stop-clients": [],
        "clear-partition": [],
        "check-empty": [f"{tool} --list --state"],
        "dry-run": [f"{tool} --reset-offsets --from-file offsets.csv {names} --dry-run"],
        "execute": [f"{tool} --reset-offsets --from-file offsets.csv {names} --execute"],
        "compare": [f"{tool} --describe {names}"],
    }


def test_only_one_step_writes() -> None:
    """A program that runs the plan can see which."""
    assert [
        step.name for step in steps_of(plan(group("a", commit(5)))) if step.changes_cluster
    ] == ["execute"]


def test_nothing_certain_leaves_no_command() -> None:
    """The steps that lose nothing stay."""
    of_plan = plan(group("a"))
    assert [*commands(of_plan)] == ["another-copy", "stop-clients", "clear-partition"]
    assert "there is nothing for `--reset-offsets`" in readme_of(of_plan)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("2 1 range A=0-2", "Classic, 1 member, no certain offset: nothing to restore."),
        ("2 1 x A=0 type=connect", "Kafka Connect: workers commit nothing here."),
        ("2 1 x A=0 type=sr", "Schema registry: the group elects a leader and commits nothing."),
        ("2 1 stream A=0", "Kafka Streams: its repartition topics are among the topics"),
        ("10 A; 11 1", "Share group: start offsets are in `__share_group_state`"),
        ("19 A; 17 1", "Streams, 1 member, no certain offset: nothing to restore. Kafka Streams"),
        ("", "type unknown, no certain offset: nothing to restore."),
    ],
)
def test_where_a_group_keeps_its_offsets(lines: str, expected: str) -> None:
    """A group without committed offsets is named with the reason."""
    assert expected in readme_of(plan(group("g", lines=lines)))


@pytest.mark.parametrize(
    ("account", "expected"),
    [
        (group("g", commit(5, metadata="x")), "Commit metadata: some have it."),
        (
            group("g", commit(5), commit(6, age_days=8)),
            "Older than 7 days at the end of the log: 1 certain offset.",
        ),
        (
            group("", commit(5)),
            "(empty id), t 0, offset 5: the tool cannot describe a group with an empty id",
        ),
        (group("g", commit(-1)), "g, t 0, offset -1: the tool refuses negative offsets."),
        (
            group("g", commit(5), topic="a b"),
            "g, a b 0, offset 5: no topic can have this name or number.",
        ),
    ],
)
def test_what_is_lost_is_said(account: GroupAccount, expected: str) -> None:
    """And not said where it is not so."""
    assert expected in readme_of(plan(account))
    assert expected not in readme_of(plan(group("g", commit(5))))


@pytest.mark.parametrize(
    ("problem", "cut_offset", "until_ms", "expected"),
    [
        (None, None, AT_MS, "loads. Its offsets are certain, except those of open transactions."),
        (
            None,
            99,
            AT_MS,
            "loads, but some of it cannot be read, or its offsets go backwards; a broker",
        ),
        (
            "fails.",
            99,
            AT_MS,
            "fails. Records before offset 99 are certain; the last of them is from 2026-09-21",
        ),
        ("fails.", 0, None, "fails. No record before it is certain."),
    ],
)
def test_what_became_of_the_partition(
    problem: str | None, cut_offset: int | None, until_ms: int | None, expected: str
) -> None:
    """One line for each partition."""
    account = PartitionAccount(3, cut_offset, until_ms, AT_MS, 0, ())
    text = readme_of(plan_for([PlannedPartition(account, problem)], "4.3"))
    assert f"- Partition 3 of `__consumer_offsets` {expected}" in text


def test_names_from_the_log_are_text() -> None:
    """A group's name makes no heading, no code and no line of its own, and nothing that a terminal obeys."""
    hostile = "a\n# b\n```\n\x1b[2J<script>|`"
    text = readme_of(plan(group(hostile, commit(5))))
    assert "\x1b" not in text
    assert "\n# b" not in text
    assert "\n```\n\x1b" not in text
    assert text.count("\n# ") == 0
    assert text.startswith("# Recovery plan")
    fences = [line for line in text.splitlines() if line.startswith("```")]
    assert fences == ["```sh", "```"] * (len(fences) // 2)


def test_many_groups_fit_on_the_page() -> None:
    """The list ends; the files and plan.json have all of them."""
    many = plan(*(group(f"g{place}", commit(place)) for place in range(1000)))
    assert "- 800 more in `plan.json`" in readme_of(many)
    assert len(plan_shape(many)["partitions"][0]["groups"]) == 1000
    assert len(commands(many)["execute"]) == 10
    assert plan_summary(many) == "1,000 groups: 1,000 certain offsets, 0 uncertain."


def test_files(tmp_path: Path) -> None:
    """The tool's files, what is uncertain, and the plan for programs; readable by whom the umask says."""
    uncertain = (
        UncertainOffset(("t", 0), OffsetDoubt.AFTER_DAMAGE, commit(7), commit(5)),
        UncertainOffset(("t", 1), OffsetDoubt.REMOVED_AFTER_DAMAGE, None, commit(6)),
        UncertainOffset(("t", 2), OffsetDoubt.OPEN_TRANSACTION, commit(8), None, 42),
    )
    account = group("a", commit(5, metadata="m"), commit(6))._replace(uncertain=uncertain)
    of_plan = plan(account, group("b,c", commit(1)))
    old = os.umask(0o027)
    try:
        names = write_plan(tmp_path / "plan", of_plan, document(plan_shape(of_plan)))
    finally:
        os.umask(old)
    written = {path.name: path for path in (tmp_path / "plan").iterdir()}
    assert (
        sorted(names)
        == sorted(written)
        == ["README.md", "offsets.csv", "plan.json", "uncertain.csv"]
    )
    assert {path.stat().st_mode & 0o777 for path in written.values()} == {0o640}
    assert written["offsets.csv"].read_text() == '"a","t",0,5\n"a","t",1,6\n"b,c","t",0,1\n'
    with written["uncertain.csv"].open(newline="") as opened:
        rows = [*csv.DictReader(opened)]
    assert [[*row.values()] for row in rows] == [
        ["a", "t", "0", "after_damage", "5", "7", "12", "2026-09-21T14:13:20.000Z", ""],
        ["a", "t", "1", "removed_after_damage", "6", "", "", "", ""],
        ["a", "t", "2", "open_transaction", "", "8", "12", "2026-09-21T14:13:20.000Z", "42"],
    ]
    shape = json.loads(written["plan.json"].read_text())
    (first, _) = shape["partitions"][0]["groups"]
    assert first["certain"][0] == {
        "topic": "t",
        "partition": 0,
        "offset": 5,
        "leader_epoch": None,
        "metadata": "m",
        "committed_at": "2026-09-21T14:13:20.000Z",
        "expires_at": None,
        "log_offset": 12,
    }
    assert [step["name"] for step in shape["steps"] if step["changes_cluster"]] == ["execute"]
