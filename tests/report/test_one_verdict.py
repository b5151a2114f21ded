"""Text, page, views and programs name the same member for the same rebalance: the one in gold.rebalances."""

from pathlib import Path

import pytest

from rebalance_audit.cli.report_facts import of_audit, report_facts
from rebalance_audit.readers.gold_sql import gold_sql
from rebalance_audit.report.brief import brief
from rebalance_audit.report.explanation import explain_group
from rebalance_audit.report.html.groups import group_sections, shown
from rebalance_audit.report.longest import longest_of
from rebalance_audit.report.names import MemberNames
from tests.cli.audited import audited_once
from tests.cli.call import CAPTURES

GROUPS_MAX = 200


@pytest.mark.parametrize("capture", sorted(CAPTURES.iterdir()), ids=lambda folder: folder.name)
def test_every_surface_says_what_the_table_says(capture: Path) -> None:
    """The sentences of the page are those of `explain`; the list and the brief have the same culprit."""
    audit = audited_once(capture / "segments")
    tables = audit.tables
    names = MemberNames(tables["members"])
    source = of_audit(capture / "segments", audit)
    sections = group_sections(report_facts(source, details=GROUPS_MAX), names, {})
    on_page = {section["name"]: section["answer"] for section, _ in sections}
    with gold_sql(audit) as sql:
        listed = sql.sql(
            "select group_id, incarnation, rebalance_seq, slowest_member_id from views.rebalance_list"
        ).fetchall()
    culprit = {tuple(row[:3]): row[3] for row in listed}
    in_brief = {row["group_id"]: row["held_up_by"] for row in brief(tables, "default")["groups"]}
    for group_id in sorted({row["group_id"] for row in tables["rebalances"]}):
        own = {
            name: [row for row in rows if row.get("group_id") == group_id]
            for name, rows in tables.items()
        }
        if not own["epochs"]:
            continue
        short = explain_group(own).sections[0].sentences
        said = [shown(names.in_sentence(group_id, sentence)) for sentence in short]
        assert said[: len(on_page[shown(group_id)])] == on_page[shown(group_id)]
        for row in own["rebalances"]:
            first = next(iter(row["held_up_member_ids"]), None)
            assert culprit[group_id, row["incarnation"], row["rebalance_seq"]] == first
        longest = longest_of(own["rebalances"])
        if longest is not None and longest.stands_out and longest.rebalance["held_up_by"]:
            first = longest.rebalance["held_up_member_ids"][0]
            if first is not None:
                assert names.of(group_id, first) in said[0]
        assert (in_brief[group_id] is not None) == any(
            member_id is not None
            for row in own["rebalances"]
            for member_id in row["held_up_member_ids"]
        )
