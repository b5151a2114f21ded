"""Text, page, views, metrics and programs give the same figures and name the same member for the same rebalance."""

import asyncio
import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.types import TextContent

from rebalance_audit.agents.server import server_over
from rebalance_audit.cli.report_facts import of_audit, report_facts
from rebalance_audit.figures.groups import summaries
from rebalance_audit.figures.ranking import longest_of, most_severe_first
from rebalance_audit.figures.rows import (
    TableRow,
    bounds_in,
    duration_of,
    is_classic,
    is_share,
    rebalance_key,
    unowned_of,
)
from rebalance_audit.local.audit import Audit
from rebalance_audit.readers.gold_sql import gold_sql
from rebalance_audit.report.answer import worst_of
from rebalance_audit.report.colours import COST_NUMBERS, COSTS, REBALANCING
from rebalance_audit.report.explanation import explain_group
from rebalance_audit.report.group_picture import (
    LANES_MAX,
    REBALANCES,
    WITHOUT_OWNER,
    group_picture,
)
from rebalance_audit.report.html.facts import PageFacts
from rebalance_audit.report.html.groups import group_sections
from rebalance_audit.report.html.page import banner_of
from rebalance_audit.report.html.rebalances import rebalance_anchor, rebalance_bar, shown
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.timeline import doubts, gaps, states
from rebalance_audit.report.verdict import held_up_of
from tests.cli.audited import audited_once
from tests.cli.call import CAPTURES, call

GROUPS_MAX = 200
LOGS = sorted(CAPTURES.iterdir())


@lru_cache(maxsize=1)
def facts_of(capture: Path) -> PageFacts:
    """What the page of a log is made from, with a section for each group."""
    source = of_audit(capture / "segments", audited_once(capture / "segments"))
    return report_facts(source, details=GROUPS_MAX)


def rows_of(audit: Audit, group_id: str) -> dict[str, list[TableRow]]:
    """The gold rows of a group."""
    return {
        name: [row for row in rows if row.get("group_id") == group_id]
        for name, rows in audit.tables.items()
    }


@pytest.mark.parametrize("capture", LOGS, ids=lambda folder: folder.name)
def test_every_surface_says_what_the_table_says(capture: Path) -> None:
    """The sentences of the page are those of `explain`; the list and the brief have the same culprit."""
    audit = audited_once(capture / "segments")
    tables = audit.tables
    names = MemberNames(tables["members"])
    sections = group_sections(facts_of(capture), names)
    on_page = {section["name"]: section["answer"] for section, _ in sections}
    with gold_sql(audit) as sql:
        listed = sql.sql(
            "select group_id, incarnation, rebalance_seq, slowest_member_id from views.rebalance_list"
        ).fetchall()
    culprit = {tuple(row[:3]): row[3] for row in listed}
    for group_id in sorted({row["group_id"] for row in tables["rebalances"]}):
        own = rows_of(audit, group_id)
        if not own["epochs"]:
            continue
        short = explain_group(own, audit.log_end_ms()).sections[0].sentences
        said = [shown(names.in_sentence(group_id, sentence)) for sentence in short]
        assert said[: len(on_page[shown(group_id)])] == on_page[shown(group_id)]
        for row in own["rebalances"]:
            first = next(iter(row["held_up_member_ids"]), None)
            assert culprit[rebalance_key(row)] == first
        longest = longest_of(own["rebalances"])
        if longest is not None and longest.stands_out and longest.rebalance["held_up_by"]:
            first = longest.rebalance["held_up_member_ids"][0]
            if first is not None:
                assert names.of(group_id, first) in said[0]


@pytest.mark.parametrize("capture", LOGS, ids=lambda folder: folder.name)
def test_the_banner_is_the_first_sentence_of_inspect(capture: Path) -> None:
    """And its findings are in the order of the text."""
    audit, facts = audited_once(capture / "segments"), facts_of(capture)
    names = MemberNames(facts.details["members"])
    worst = worst_of(audit.tables, audit.log_end_ms())
    sentence = MemberNames(audit.tables["members"]).in_sentence(worst.group_id, worst.sentence)
    banner = banner_of(facts, names, {group["group_id"] for group in facts.groups})
    assert banner["text"] == sentence
    on_screen = "".join(call("inspect", capture / "segments").out.split())
    assert "".join(sentence.split()) in on_screen
    by_cost = [row["finding_id"] for row in most_severe_first(audit.tables)]
    shown = [row["finding_id"] for row in most_severe_first({"findings": facts.findings})]
    assert shown == [each for each in by_cost if each in set(shown)]


@pytest.mark.parametrize("capture", LOGS, ids=lambda folder: folder.name)
def test_the_figures_of_a_group_in_sql_are_those_of_its_rows(capture: Path) -> None:
    """Page, views, metrics and agents read `schemas/figures`; text, brief and watch read `figures.groups`."""
    on_page = {row["group_id"]: row for row in facts_of(capture).groups}
    for group in summaries(audited_once(capture / "segments").tables):
        row = on_page[group.group_id]
        assert row["rebalances"] == group.rebalances
        assert row["epochs"] == group.epochs
        assert bounds_in(row, "not_stable") == group.not_stable
        assert bounds_in(row, "unowned_partition") == group.unowned
        assert bounds_in(row, "longest") == group.longest
        assert row["commonest_cause"] == group.commonest_cause
        culprit = row["culprit"] and tuple(
            row["culprit"][name] for name in ("member_id", "times", "ms")
        )
        assert culprit == (group.culprit and group.culprit[:3])
        assert row["open_since_ms"] == group.open_since_ms


@pytest.mark.parametrize("capture", LOGS, ids=lambda folder: folder.name)
def test_bars_and_rows_are_those_of_the_table(capture: Path) -> None:
    """Each bar lasts as long as the text says, and has the colour of the first that held it up."""
    audit, facts = audited_once(capture / "segments"), facts_of(capture)
    names = MemberNames(audit.tables["members"])
    bars = {
        (row["group_id"], rebalance_anchor(row)): rebalance_bar(row, facts.end_ms, names)
        for row in facts.bars
    }
    tables: dict[str, list[dict[str, Any]]] = {
        section["name"]: section["rebalances"] for section, _ in group_sections(facts, names)
    }
    for row in audit.tables["rebalances"]:
        took, holders = duration_of(row), held_up_of(row)
        bar = bars[row["group_id"], rebalance_anchor(row)]
        if took is not None:
            assert bar.to_ms - bar.from_ms == took.likely
        assert bar.cost == COST_NUMBERS[holders[0].why if holders else None]
        cells = [
            each for each in tables[shown(row["group_id"])] if each["key"] == rebalance_anchor(row)
        ]
        for cell in cells:
            assert cell["took_ms"] == (1 << 60 if took is None else took.likely)
            unowned = unowned_of(row)
            assert cell["unowned_ms"] == (0 if unowned is None else unowned.likely)
            for holder in holders[:1]:
                assert holder.member_id is None or bar.cost == cell["cost"]
                whole = names.of(row["group_id"], holder.member_id) if holder.member_id else ""
                assert shown(whole) in cell["held_up"]


@pytest.mark.parametrize("capture", LOGS, ids=lambda folder: folder.name)
def test_the_picture_has_the_bars_and_sentences_of_the_others(capture: Path) -> None:
    """Of each rebalance its duration, what cost the time and whom it waited for; above, the answer of `explain`."""
    audit = audited_once(capture / "segments")
    names = MemberNames(audit.tables["members"])
    for group_id in sorted({row["group_id"] for row in audit.tables["epochs"]}):
        own = audit.rows_of_group(group_id)
        drawn = group_picture(own, group_id, (None, None), audit.log_end_ms())
        said = audit.explain(group_id).sections[0].sentences
        assert drawn.verdict[0] == (said[0] if own["rebalances"] else "No rebalance in this time.")
        bars = [bar for bar in drawn.group if bar.lane == REBALANCES]
        for row, bar in zip(own["rebalances"], bars, strict=True):
            took, holders = duration_of(row), held_up_of(row)
            if took is not None:
                assert bar.to_ms - bar.from_ms == took.likely
            first = next(iter(holders), None)
            assert bar.colour == COSTS[first and first.why].shades.light
            if first is not None and first.member_id is not None:
                assert bar.name == names.of(group_id, first.member_id)
                assert bar.name in drawn.member_lanes or len(drawn.member_lanes) == LANES_MAX
        without = [bar for bar in drawn.partitions if bar.colour == WITHOUT_OWNER]
        expected = gaps(own["ownership"], own["rebalances"], drawn.span[1])
        assert [bar[1:3] for bar in without] == [gap[:2] for gap in expected]


@pytest.mark.parametrize("capture", LOGS, ids=lambda folder: folder.name)
def test_agents_get_the_order_and_the_sentences_of_the_text(capture: Path) -> None:
    """Findings and explain, asked of the tools themselves."""
    audit = audited_once(capture / "segments")
    server = server_over(audit)
    found = asked(server, "findings", limit=1000)["findings"]
    assert [row["finding_id"] for row in found] == [
        row["finding_id"] for row in most_severe_first(audit.tables)
    ]
    for group_id in sorted({row["group_id"] for row in audit.tables["epochs"]})[:2]:
        answer = asked(server, "explain", group=group_id)
        assert answer["sections"][0]["sentences"] == audit.explain(group_id).sections[0].sentences


def asked(server: MCPServer, tool: str, **arguments: object) -> Any:
    """The answer of a tool."""

    async def ask() -> Any:
        async with Client(server) as client:
            (content,) = (await client.call_tool(tool, arguments)).content
            assert isinstance(content, TextContent)
            return json.loads(content.text)

    return asyncio.run(ask())


@pytest.mark.parametrize("capture", LOGS, ids=lambda folder: folder.name)
def test_gaps_of_partitions_add_up_to_the_time_without_owner(capture: Path) -> None:
    """What lanes and lists show, summed over partitions, is the figure of the rebalance, if the log shows an owner."""
    audit = audited_once(capture / "segments")
    end_ms = audit.facts.last_ms or 0
    for group_id in audit.group_ids:
        own = rows_of(audit, group_id)
        found = gaps(own["ownership"], own["rebalances"], end_ms)
        owned = {(row["incarnation"], row["from_epoch"]) for row in own["ownership"]}
        for row in own["rebalances"]:
            total_ms = row["unowned_partition_ms"]
            if is_classic(row) or is_share(row) or total_ms is None or not owned:
                continue
            ended_ms = end_ms if row["ended_at"] is None else row["ended_at"]
            parts = (
                max(0, min(ended_ms, gap.to_ms) - max(row["started_at"], gap.from_ms))
                for gap in found
            )
            assert sum(parts) in {total_ms, 0 if row["outcome"] == "emptied" else total_ms}


@pytest.mark.parametrize("capture", LOGS, ids=lambda folder: folder.name)
def test_the_view_of_topics_has_the_gaps_that_lanes_show(capture: Path) -> None:
    """All that ended, in groups that were never classic; the view sums them by topic."""
    audit = audited_once(capture / "segments")
    with gold_sql(audit) as sql:
        found = sql.sql("select group_id, unowned_partition_ms from views.unowned_by_topic")
        in_view: Counter[str] = Counter()
        for group_id, lasted_ms in found.fetchall():
            in_view[group_id] += lasted_ms
    for group_id in audit.group_ids:
        own = rows_of(audit, group_id)
        if any(map(is_classic, own["epochs"])):
            continue
        lasted = (gap.to_ms - gap.from_ms for gap in gaps(own["ownership"], own["rebalances"]))
        assert in_view[group_id] == sum(lasted)


@pytest.mark.parametrize("capture", LOGS, ids=lambda folder: folder.name)
def test_a_classic_group_is_never_certain_where_it_may_have_been_rebalancing(
    capture: Path,
) -> None:
    """No certain stretch of its states overlaps the bounds of a rebalance, but for what is proven."""
    audit = audited_once(capture / "segments")
    end_ms = audit.facts.last_ms or 0
    for group_id in audit.group_ids:
        own = rows_of(audit, group_id)
        found = doubts(own["rebalances"], end_ms)
        for stretch in states(own["group_states"], found, end_ms):
            if not stretch.is_certain or stretch.state == REBALANCING:
                continue
            for doubt in found:
                earliest_ms = doubt.likely_ms if doubt.earliest_ms is None else doubt.earliest_ms
                overlap = min(stretch.to_ms, doubt.certain_ms) - max(stretch.from_ms, earliest_ms)
                assert overlap <= 0, (group_id, stretch, doubt)
