"""Groups as they stood at a moment, for people: a table of groups, and the members of each."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console

from rebalance_audit.report.epoch_sentences import partitions_text
from rebalance_audit.report.terminal.layout import ConsoleReport, cell, title_of, two_lines
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import Sentence
from rebalance_audit.visible import shortened

GROUPS_SHOWN: Final = 50
MEMBERS_SHOWN: Final = 50
PARTITIONS_TEXT_MAX: Final = 60
"""Characters for the partitions of one member."""

Described = Mapping[str, Any]
"""A group in the shape of `replay.describe`."""


def print_state(
    console: Console,
    groups: Sequence[Described],
    at_ms: int | None,
    *,
    is_log_end: bool,
    with_members: bool,
) -> None:
    """The groups, and their members if these were asked for; `at_ms`: the moment (epoch ms)."""
    layout = ConsoleReport(console)
    where = ", where the log ends" if is_log_end else ""
    heading = f"{words.counted(len(groups), 'group')} at {words.utc(at_ms)}{where}"
    layout.line(cell(heading, "bold"))
    shown = groups[:GROUPS_SHOWN]
    numbers = ("Epoch", "Members", "Partitions")
    table = layout.table("Group", "Type", "State", *numbers, "Assignor", right=numbers)
    for group in shown:
        members = group["members"]
        assigned = sum(
            len(parts) for each in members for parts in (each["assignment"] or {}).values()
        )
        table.add_row(
            cell(shortened(group["group_id"]), "bold"),
            group["type"] or words.NOTHING,
            group["state"] or words.NOTHING,
            words.number(group["epoch"]),
            f"{len(members):,}",
            f"{assigned:,}",
            shortened(group["assignor"] or words.NOTHING),
        )
    layout.title(title_of("Groups", len(shown), len(groups), "first"))
    layout.print_table(table)
    for group in shown if with_members else ():
        _members(layout, group)
        _offsets(layout, group)
    if not with_members:
        layout.line("--group G shows the members and offsets of a group; --json has everything.")


def _members(layout: ConsoleReport, group: Described) -> None:
    members = group["members"]
    shown = members[:MEMBERS_SHOWN]
    table = layout.table("Member", "Host", "Epoch", "Assigned", "To come", right=("Epoch",))
    for member in shown:
        name = member["instance_id"] or member["client_id"] or member["member_id"]
        table.add_row(
            two_lines(cell(shortened(name)), shortened(member["member_id"])),
            cell(shortened((member["client_host"] or words.NOTHING).removeprefix("/"))),
            words.number(member["epoch"]),
            cell(_partitions(member["assignment"])),
            cell(_partitions(_to_come(member))),
        )
    layout.title(
        title_of(f"Members of {shortened(group['group_id'])}", len(shown), len(members), "first")
    )
    layout.print_table(table)


def _to_come(member: Described) -> dict[str, list[int]]:
    """What the target gives the member and it does not have yet."""
    has = member["assignment"] or {}
    return {
        topic: missing
        for topic, numbers in (member["target"] or {}).items()
        if (missing := [each for each in numbers if each not in set(has.get(topic, ()))])
    }


def _partitions(assignment: Mapping[str, Sequence[int]] | None) -> Sentence:
    rows = [
        {"topic": topic, "topic_id": None, "topic_partition": number}
        for topic, numbers in (assignment or {}).items()
        for number in numbers
    ]
    return Sentence(
        (shortened(partitions_text(rows), PARTITIONS_TEXT_MAX) if rows else words.NOTHING,)
    )


def _offsets(layout: ConsoleReport, group: Described) -> None:
    table = layout.table("Topic", "Partitions", "Latest commit", right=("Partitions",))
    for topic, offsets in group["offsets"].items():
        latest = max((each["committed_at"] or "" for each in offsets.values()), default="")
        table.add_row(cell(shortened(topic)), f"{len(offsets):,}", latest or words.NOTHING)
    if group["offsets"]:
        layout.title(f"Committed offsets of {shortened(group['group_id'])}")
        layout.print_table(table)
