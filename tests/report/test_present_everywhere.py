"""Logs cut while groups rebalance: every surface says for whom a group waits, for how long, and how sure that is."""

import os
import shutil
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rebalance_audit.agents.server import server_over
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import GOLD_OF_GROUP, Row
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.live_source import live_source
from rebalance_audit.cli.report_facts import of_audit, report_facts
from rebalance_audit.cli.watched_groups import WatchedGroup, WatchedGroups
from rebalance_audit.figures.groups import summaries
from rebalance_audit.figures.present import Present, waits
from rebalance_audit.figures.rows import bounds_in, lasted
from rebalance_audit.local.audit import Audit, audit_segments
from rebalance_audit.local.live.live_audit import LiveAudit
from rebalance_audit.readers.gold_sql import gold_sql
from rebalance_audit.report.answer import worst_of
from rebalance_audit.report.explanation import explain_group
from rebalance_audit.report.html.groups import group_sections
from rebalance_audit.report.html.page import banner_of
from rebalance_audit.report.html.rebalances import shown
from rebalance_audit.report.names import MemberNames
from rebalance_audit.sentences import words
from rebalance_audit.tables.row_shapes import shaper
from rebalance_audit.tables.rows import schema_of
from rebalance_audit.whatif.group_rows import group_rows
from tests.cli.call import CAPTURES
from tests.report.test_one_verdict import asked, rows_of

CUTS = 10
GROUPS_MAX = 2000
BATCH_LENGTH, MAX_TIMESTAMP, HEADER = 8, 35, 61
"""Of a record batch: where its length and the time of its last record are, and the size of its header in bytes."""
LOGS = sorted(folder.name for folder in CAPTURES.iterdir())


def batches(segment: Path) -> Iterator[tuple[int, int]]:
    """When the last record of each batch was written (epoch ms), and where the batch ends in the file."""
    data, end = segment.read_bytes(), 0
    while end + HEADER <= len(data):
        (at_ms,) = struct.unpack_from(">q", data, end + MAX_TIMESTAMP)
        end += struct.unpack_from(">i", data, end + BATCH_LENGTH)[0] + BATCH_LENGTH + 4
        yield at_ms, end


def cut(source: Path, log: Path, until_ms: int) -> None:
    """Copy the log up to a moment (epoch ms)."""
    shutil.copytree(source, log)
    for path in source.glob("__consumer_offsets-*/*.log"):
        kept = max((end for at_ms, end in batches(path) if at_ms <= until_ms), default=0)
        os.truncate(log / path.relative_to(source), kept)


def cuts(capture: str, folder: Path) -> Iterator[Audit]:
    """The audit of the log at ten moments, by equal numbers of batches."""
    source = CAPTURES / capture / "segments"
    segments = source.glob("__consumer_offsets-*/*.log")
    moments = sorted(at_ms for path in segments for at_ms, _ in batches(path))
    for number in range(CUTS):
        until_ms = moments[(number + 1) * (len(moments) - 1) // (CUTS + 1)]
        log = folder / f"{number}"
        cut(source, log, until_ms)
        yield audit_segments(log)


def watched(log: Path) -> Mapping[str, WatchedGroup]:
    """What `watch` knows of each group, those that need attention first."""
    source = live_source(Invocation(), f"segments:{log}")
    live = LiveAudit(AuditOptions(topic_name=source.names.name_of), source.names)
    groups = WatchedGroups("default")
    for log_partition, found in source.log.read():
        live.take(log_partition, found)
    source.log.close()
    groups.take(live.updates())
    return {group.group_id: group for group in groups.by_trouble()}


def shifted(by_ms: int, at_ms: int | None) -> int | None:
    """The moment so much later (epoch ms)."""
    return None if at_ms is None else at_ms + by_ms


class Everything(NamedTuple):
    """All cut logs as one, each group id behind the name of its log: to ask each surface once is faster."""

    audit: Audit
    live: Mapping[str, WatchedGroup]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Everything:
    """Times are shifted, so that all logs end with the first one."""
    tables: dict[str, list[Row]] = {}
    live: dict[str, WatchedGroup] = {}
    whole: Audit | None = None
    for capture in LOGS:
        for number, audit in enumerate(cuts(capture, tmp_path_factory.mktemp(capture))):
            whole = whole or audit
            end_ms, prefix = audit.log_end_ms() or 0, f"{capture} {number}: "
            shift_ms = (whole.log_end_ms() or 0) - end_ms
            for name in GOLD_OF_GROUP:
                shape = shaper(schema_of(f"gold.{name}"), partial(shifted, shift_ms))
                tables.setdefault(name, []).extend(
                    shape(row, "default") | {"group_id": prefix + row["group_id"]}
                    for row in audit.tables[name]
                    if row.get("group_id") is not None
                )
            groups = watched(Path(audit.facts.source))
            for group_id, group in groups.items():
                own = summaries(rows_of(audit, group_id))
                assert group.totals(end_ms).not_stable.estimate == own[0].not_stable.estimate, (
                    prefix
                )
                live[prefix + group_id] = group
            stuck = [group.is_stuck for group in groups.values()]
            assert stuck == sorted(stuck, reverse=True), prefix
    assert whole is not None
    ids = frozenset(row["group_id"] for row in tables["group_states"])
    return Everything(replace(whole, tables=tables, group_ids=ids), live)


def test_every_surface_says_the_same_of_the_present(everything: Everything) -> None:
    """Who, for how long, how sure: rows, text, page, views, agents and watch."""
    audit, live = everything
    tables, end_ms = audit.tables, audit.log_end_ms()
    names = MemberNames(tables["members"])
    facts = report_facts(of_audit(Path(), audit), details=GROUPS_MAX)
    sections = {section["name"]: section for section, _ in group_sections(facts, names)}
    on_page = {row["group_id"]: row for row in facts.groups}
    with gold_sql(audit) as sql:
        found = sql.sql("select * from views.groups_now").to_arrow_table().to_pylist()
    in_view = {row["group_id"]: row for row in found}
    for_agents = [
        row["group_id"] for row in asked(server_over(audit), "list_groups", limit=1000)["groups"]
    ]
    grouped = summaries(tables)
    stuck = {group.group_id for group in grouped if group.is_stuck}
    for order in ([group.group_id for group in grouped], [*on_page], for_agents):
        assert set(order[: len(stuck)]) == stuck & set(order), "a group that waits comes first"
    own_rows = by_group(tables)
    awaited = converted = 0
    for group in grouped:
        group_id, own = group.group_id, own_rows[group.group_id]
        if group.present is None or not own["epochs"]:
            continue
        protocol = group.present.protocol
        converted += protocol != own["epochs"][-1]["protocol"]
        assert group.protocols[-1] == protocol, "also without an epoch since"
        assert in_view[group_id]["protocol"] == protocol
        assert (on_page[group_id]["protocol"] or "").startswith(protocol)
        assert group_rows({**own, "topics": []}, group_id).protocol == protocol
        ids = [row["member_id"] for row in group.present.awaited]
        awaited += bool(ids)
        said = [
            shown(names.in_sentence(group_id, sentence))
            for sentence in explain_group(own, end_ms).sections[0].sentences
        ]
        if shown(group_id) in sections:
            answer = sections[shown(group_id)]["answer"]
            assert said[: len(answer)] == answer
        assert [row["member_id"] for row in in_view[group_id]["awaited"] or ()] == ids
        culprit_ms = 0 if group.culprit is None else group.culprit.ms
        culprit = on_page[group_id]["culprit"] or {"ms": 0}
        assert culprit["ms"] == culprit_ms
        assert bounds_in(on_page[group_id], "not_stable") == group.not_stable
        watching = live[group_id].present
        assert watching is not None
        assert [row["member_id"] for row in watching.awaited] == ids
        for row in own["rebalances"]:
            if row["ended_at"] is not None:
                continue
            assert row["held_up_member_ids"] == ids
            assert set(row["held_up_to"]) <= {None}
            took = lasted(row)
            assert took is not None
            assert f"for {words.duration(took.estimate)}" in said[0]
            sure = group.present.awaited[0]["certainty"] if ids else None
            assert row["held_up_certainty"] == sure
        if ids:
            assert any(shown(names.of(group_id, member_id)) in said[0] for member_id in ids[:3])
    assert awaited >= len(LOGS)
    assert converted
    worst = worst_of(tables, end_ms)
    banner = banner_of(facts, MemberNames(facts.details["members"]), set(on_page))
    assert banner["text"] == names.in_sentence(worst.group_id, worst.sentence)


def test_a_join_phase_in_a_brokers_log_is_the_answer(tmp_path: Path) -> None:
    """A classic group that rebalances when the log ends; without a broker's log it is Stable, and no more is known."""
    log, lines = tmp_path / "log", CAPTURES / "classic-cooperative" / "server.log.gz"
    cut(CAPTURES / "classic-cooperative" / "segments", log, 1795252229000)
    alone, logged = audit_segments(log), audit_segments(log, broker_logs=[lines])
    first = [summaries(each.tables)[0] for each in (alone, logged)]
    assert [group.is_stuck for group in first] == [False, True]
    assert first[1].group_id == "coop"
    said = explain_group(rows_of(logged, "coop"), logged.log_end_ms()).sections[0].sentences[0]
    assert said.startswith("It has been rebalancing for 3.5 s. The coordinator logged: Adding new")
    assert worst_of(logged.tables, logged.log_end_ms()).group_id == "coop"
    row = next(row for row in logged.tables["rebalances"] if row["outcome"] == "open")
    assert (row["open_until"] - row["started_at"], row["partitions_moved"]) == (3_504, None)
    assert first[1].not_stable.estimate == 8_365, "it counts up to the end of the log"
    facts = report_facts(of_audit(Path(), logged), details=GROUPS_MAX)
    assert facts.groups[0]["group_id"] == "coop"
    assert bounds_in(facts.groups[0], "not_stable") == first[1].not_stable
    assert "for 3.5 s" in banner_of(facts, MemberNames([]), {"coop"})["text"]
    names = MemberNames(facts.details["members"])
    sections = {section["name"]: section["answer"] for section, _ in group_sections(facts, names)}
    assert sections["coop"][0] == shown(names.in_sentence("coop", said))
    listed = asked(server_over(logged), "list_groups", limit=1000)["groups"]
    assert (listed[0]["group_id"], listed[0]["not_stable_estimate_ms"]) == ("coop", 8_365)


STOPPED = [{"member_id": each, "last_commit_at": 2_000, "interval_ms": 1_000} for each in "AB"]
NOT_IN_THE_LOG = (
    "Whether it is rebalancing now is not in the log: a classic group writes nothing until its join phase"
    " ends."
)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {"stopped": STOPPED[:1]},
            (
                "A last committed 28.0 s ago, every 1.0 s before: possibly it hangs or is gone, or the group is"
                f" rebalancing. {NOT_IN_THE_LOG}"
            ),
        ),
        (
            {"stopped": STOPPED},
            (
                "A and B have stopped committing, the first 28.0 s ago: possibly they hang or are gone, or the group is"
                f" rebalancing. {NOT_IN_THE_LOG}"
            ),
        ),
        (
            {"stopped": STOPPED[:1], "join_phase_since_ms": 10_000},
            (
                "g has been rebalancing for 20.0 s. The coordinator logged: why. A had stopped committing before, "
                "28.0 s ago: the join phase may wait for it (possible)."
            ),
        ),
        (
            {"stopped": STOPPED[:1], "join_phase_since_ms": 2_500},
            "g has been rebalancing for 27.5 s. The coordinator logged: why.",
        ),
        (
            {"removed": [{"member_id": "B", "at": 29_000}], "join_phase_since_ms": 10_000},
            "g has been rebalancing for 20.0 s: it waited for B, removed 1.0 s ago. The coordinator logged: why.",
        ),
        (
            {"joined_at_ms": 29_000, "join_phase_since_ms": 10_000},
            (
                "g has been rebalancing for 20.0 s: its members joined 1.0 s ago, the leader's assignment is missing. "
                "The coordinator logged: why."
            ),
        ),
        (
            {"stopped": STOPPED[:1], "coordinator_state": "PreparingRebalance"},
            (
                "g is rebalancing: its coordinator says PreparingRebalance, so it waits for members to join. A last"
                " committed 28.0 s ago, every 1.0 s before: the group may wait for it (possible), unless it has"
                " rejoined."
            ),
        ),
        (
            {"stopped": STOPPED, "coordinator_state": "PreparingRebalance"},
            (
                "g is rebalancing: its coordinator says PreparingRebalance, so it waits for members to join. A and B"
                " have stopped committing, the first 28.0 s ago: the group may wait for them (possible), unless they"
                " have rejoined."
            ),
        ),
        (
            {"stopped": STOPPED, "coordinator_state": "CompletingRebalance"},
            (
                "g is rebalancing: its coordinator says CompletingRebalance, so it waits for the leader's assignment."
            ),
        ),
        (
            {"stopped": STOPPED[:1], "coordinator_state": "Stable"},
            (
                "A last committed 28.0 s ago, every 1.0 s before: possibly it hangs or is gone. The group is not"
                " rebalancing: its coordinator says Stable."
            ),
        ),
        (
            {"stopped": STOPPED[:1], "coordinator_state": "Dead"},
            (
                "A last committed 28.0 s ago, every 1.0 s before: possibly it hangs or is gone, or the group is"
                f" rebalancing. {NOT_IN_THE_LOG}"
            ),
        ),
        ({"coordinator_state": "Stable"}, ""),
    ],
)
def test_what_is_said_of_a_classic_group(found: Mapping[str, Any], said: str) -> None:
    """A join phase that a coordinator logged or is asked for, else who has stopped committing, and that this is all."""
    group = Present("classic", "Stable", 2, 0, 0, 7, join_phase_reason="why", **found)
    assert " ".join(waits(group, "g", None, 30_000)) == said


def by_group(tables: Mapping[str, list[Row]]) -> Mapping[str, dict[str, list[Row]]]:
    """Group id -> table -> its rows."""
    found: dict[str, dict[str, list[Row]]] = {}
    for name, rows in tables.items():
        for row in rows:
            own = found.setdefault(row["group_id"], {each: [] for each in tables})
            own[name].append(row)
    return found
