"""One rebalance, its causes and its findings as an agent reads them: codes, numbers, and marked sentences."""

from collections.abc import Iterable
from typing import Any, Final

from rebalance_audit.agents.answer_text import marked_name, marked_sentence
from rebalance_audit.figures.groups import Culprit
from rebalance_audit.figures.rows import (
    TableRow,
    began_ms,
    duration_of,
    lasted,
    unowned_of,
)
from rebalance_audit.report.held_up import held_up_of
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.row_sentences import ShownEvidence, advice_of, detail_of, evidence_of
from rebalance_audit.report.verdict import Verdicts, time_sentence
from rebalance_audit.sentences import words

EVIDENCE_SHOWN: Final = 3
MEMBERS_SHOWN: Final = 3

Facts = dict[str, Any]


def rebalance_facts(row: TableRow, verdicts: Verdicts, names: MemberNames) -> Facts:
    """What happened, in codes and in sentences; `first_epoch` leads to the rest."""
    took, unowned = duration_of(row), unowned_of(row)
    so_far = None if row["ended_at"] is not None else lasted(row)
    group_id, time = row["group_id"], time_sentence(row)
    return {
        "first_epoch": row["first_epoch"],
        "last_epoch": row["last_epoch"],
        "started_at": words.iso(began_ms(row)),
        "ended_at": words.iso(row["ended_at"]),
        "outcome": row["outcome"],
        "cause": row["primary_cause"],
        "certainty": row["primary_certainty"],
        "duration_ms": None if took is None else took._asdict(),
        "going_on_for_ms": None if so_far is None else so_far.estimate,
        "unowned_partition_ms": None if unowned is None else unowned._asdict(),
        "partitions_moved": row["partitions_moved"],
        "held_up_by": [
            {
                "member": None
                if holder.member_id is None
                else marked_name(names.whole(group_id, holder.member_id)),
                "why": holder.why,
                "ms": holder.ms,
                "certainty": holder.certainty,
            }
            for holder in held_up_of(row)[:MEMBERS_SHOWN]
        ],
        "held_up_certainty": row["held_up_certainty"],
        "time": None if time is None else marked_sentence(group_id, time, names),
        "summary": marked_sentence(group_id, verdicts.short(row), names),
        "completeness": row["completeness"],
    }


def cause_facts(row: TableRow, names: MemberNames) -> Facts:
    """A cause with what decided it; lines of a broker's log first."""
    group_id, member_id = row["group_id"], row["member_id"]
    evidence = sorted(evidence_of(row), key=lambda item: not item.is_logged)
    return {
        "epoch": row["epoch"],
        "cause": row["cause"],
        "role": row["role"],
        "certainty": row["certainty"],
        "at": words.iso(row["at"]),
        "member": None if member_id is None else marked_name(names.whole(group_id, member_id)),
        "host": None if row["client_host"] is None else marked_name(row["client_host"]),
        "detail": marked_sentence(group_id, detail_of(row), names),
        "not_excluded": list(row["alternatives"] or ()),
        "evidence": [
            {
                "source": "broker log" if item.is_logged else "record",
                "record": item.record,
                "at": words.iso(item.at),
                "fact": marked_sentence(group_id, item.fact, names),
            }
            for item in evidence[:EVIDENCE_SHOWN]
        ],
    }


def finding_facts(row: TableRow, names: MemberNames) -> Facts:
    """A finding with its advice."""
    group_id = row["group_id"] or ""
    return {
        "finding_id": row["finding_id"],
        "kind": row["kind"],
        "severity": row["severity"],
        "from": words.iso(row["from_at"]),
        "to": words.iso(row["to_at"]),
        "detail": marked_sentence(group_id, detail_of(row), names),
        "advice": marked_sentence(group_id, advice_of(row), names),
    }


def broker_lines(rows: Iterable[TableRow]) -> list[tuple[str, ShownEvidence]]:
    """(Group, line) of what brokers' logs say in the evidence of causes or findings, each line once."""
    found = {
        (item.at, str(item.fact)): (row["group_id"] or "", item)
        for row in rows
        for item in evidence_of(row)
        if item.is_logged
    }
    return list(found.values())


def line_facts(group_id: str, line: ShownEvidence, names: MemberNames) -> Facts:
    """A line of a broker's log, with the record that it is about."""
    fact = marked_sentence(group_id, line.fact, names)
    return {"at": words.iso(line.at), "record": line.record, "fact": fact}


def culprit_facts(group_id: str, culprit: Culprit, names: MemberNames) -> Facts:
    """For whom the group waited, in how many rebalances, and why; the coordinator is no member."""
    member = marked_name(names.whole(group_id, culprit.member_id))
    return {
        "member": member,
        "rebalances": culprit.rebalances,
        "ms": culprit.ms,
        "why": list(culprit.why),
    }
