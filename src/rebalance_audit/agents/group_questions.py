"""Whole questions about one group: why it rebalanced at a moment, and what happened in an incident."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rebalance_audit.agents.answer_text import ITEMS_MAX, marked_name, marked_sentence, small_answer
from rebalance_audit.errors import BadRequest
from rebalance_audit.figures.groups import Culprit, Totals, culprits
from rebalance_audit.figures.ranking import most_severe_first
from rebalance_audit.figures.rows import (
    RowKey,
    TableRow,
    Tables,
    began_ms,
    duration_of,
    epoch_key,
    lasted,
    longest_first,
    picked,
    unowned_of,
)
from rebalance_audit.moments import LAST_MS
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.row_sentences import ShownEvidence, advice_of, detail_of, evidence_of
from rebalance_audit.report.unknowns import ADVICE, log_would_settle, unknowns_of_epoch
from rebalance_audit.report.verdict import Verdicts, held_up_of, time_sentence
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
        **picked(row, "first_epoch", "last_epoch"),
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
                "member": _member(group_id, holder.member_id, names),
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
    group_id = row["group_id"]
    evidence = sorted(evidence_of(row), key=lambda item: not item.is_logged)
    return {
        **picked(row, "epoch", "cause", "role", "certainty"),
        "at": words.iso(row["at"]),
        "member": _member(group_id, row["member_id"], names),
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


def _member(group_id: str, member_id: str | None, names: MemberNames) -> str | None:
    return None if member_id is None else marked_name(names.whole(group_id, member_id))


def finding_facts(row: TableRow, names: MemberNames) -> Facts:
    """A finding with its advice."""
    group_id = row["group_id"] or ""
    return {
        **picked(row, "finding_id", "kind", "severity"),
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
    return {
        "member": _member(group_id, culprit.member_id, names),
        "rebalances": culprit.rebalances,
        "ms": culprit.ms,
        "why": list(culprit.why),
    }


CULPRITS_SHOWN: Final = 5
MORE_SHOWN: Final = 3
CAUSES_OF_WORST: Final = 3


def why_at(own: Tables, at_ms: int, log_end_ms: int | None) -> Facts:
    """The rebalance of a moment, else the last one before it, with causes, evidence and what to do.

    `own`: the group's rows; `at_ms`: epoch milliseconds, as is `log_end_ms`, None where that is not known. Raises
    BadRequest where the group had not rebalanced yet.
    """
    begun = [row for row in own["rebalances"] if (began_ms(row) or 0) <= at_ms]
    if not begun:
        first = min((began_ms(row) or 0 for row in own["rebalances"]), default=None)
        when = "it has none" if first is None else f"its first began at {words.utc(first)}"
        raise BadRequest(f"No rebalance of this group at {words.utc(at_ms)} or before: {when}.")
    # The bounds of a rebalance may reach into the one before.
    lasting = [row for row in begun if _ended_ms(row) >= at_ms]
    rebalance = max(lasting or begun, key=lambda row: (began_ms(row) or 0, row["rebalance_seq"]))
    window = _Window(own, [rebalance], began_ms(rebalance) or 0, _ended_ms(rebalance) + 1)
    answer = {
        **cluster_of(own),
        "group": marked_name(rebalance["group_id"]),
        "covers_the_moment": bool(lasting),
        "epoch_at_moment": window.epoch_at(at_ms),
        "rebalance": rebalance_facts(rebalance, Verdicts(own, log_end_ms), window.names),
        "causes": [cause_facts(row, window.names) for row in window.causes[:ITEMS_MAX]],
        **window.answer(),
        "more": [
            {"tool": "explain", "arguments": {"epoch": row["epoch"], **cluster_of(own)}}
            for row in window.epochs[:MORE_SHOWN]
        ],
    }
    shrinkable = ("broker_lines", "findings", "causes", "not_known", "next_steps")
    return small_answer(answer, shrinkable, {**window.in_all(), "causes": len(window.causes)})


def incident(own: Tables, start_ms: int, end_ms: int, log_end_ms: int | None) -> Facts:
    """Everything about a group between two moments (epoch ms): rebalances, culprits, findings, broker lines, advice."""
    rebalances = [
        row
        for row in own["rebalances"]
        if (began_ms(row) or 0) < end_ms and _ended_ms(row) >= start_ms
    ]
    by_cost = sorted(
        rebalances, key=lambda row: (row["ended_at"] is not None, longest_first(row), _place(row))
    )
    window, verdicts = _Window(own, by_cost, start_ms, end_ms), Verdicts(own, log_end_ms)
    names = window.names
    totals, blamed = Totals.of(rebalances), culprits(rebalances, own["members"])
    answer = {
        **cluster_of(own),
        "group": marked_name(window.group_id),
        "from": words.iso(start_ms),
        "to": words.iso(end_ms),
        "rebalances_in_all": len(rebalances),
        "not_stable_ms": totals.not_stable._asdict(),
        "causes": dict(totals.ranked_causes),
        "culprits": [
            culprit_facts(window.group_id, each, names) for each in blamed[:CULPRITS_SHOWN]
        ],
        "rebalances": [rebalance_facts(row, verdicts, names) for row in by_cost[:ITEMS_MAX]],
        "causes_of_worst": [
            cause_facts(row, names)
            for row in _Window(own, by_cost[:1], start_ms, end_ms).causes[:CAUSES_OF_WORST]
        ],
        **window.answer(),
        "more": [
            {"tool": "why", "arguments": {"moment": words.iso(began_ms(row)), **cluster_of(own)}}
            for row in by_cost[:MORE_SHOWN]
        ],
    }
    shrinkable = (
        *("broker_lines", "rebalances", "findings", "causes_of_worst", "culprits"),
        *("not_known", "next_steps"),
    )
    in_all = {"rebalances": len(by_cost), "culprits": len(blamed)}
    return small_answer(answer, shrinkable, {**window.in_all(), **in_all})


def cluster_of(own: Tables) -> dict[str, str]:
    """The cluster of rows of a lake, which may have the group in others too."""
    name = own["group_states"][0].get("cluster") if own["group_states"] else None
    return {} if name is None else {"cluster": name}


class _Window:
    """What belongs to some rebalances of a group: epochs, causes, findings of their time, lines of brokers' logs."""

    def __init__(
        self, own: Tables, rebalances: Sequence[TableRow], start_ms: int, end_ms: int
    ) -> None:
        self.names = MemberNames(own["members"])
        rows: Iterator[TableRow] = (row for name in ("group_states", "epochs") for row in own[name])
        self.group_id: str = next((row["group_id"] for row in rows), "")
        order = {_place(row): number for number, row in enumerate(rebalances)}
        self.epochs = sorted(
            (row for row in own["epochs"] if _place(row) in order),
            key=lambda row: (order[_place(row)], row["epoch"]),
        )
        self._causes: dict[RowKey, list[TableRow]] = defaultdict(list)
        for row in sorted(own["rebalance_causes"], key=lambda row: row["cause_seq"]):
            self._causes[epoch_key(row)].append(row)
        self.causes = [cause for epoch in self.epochs for cause in self._causes[epoch_key(epoch)]]
        self.findings = [
            row
            for row in most_severe_first(own)
            if (row["from_at"] or 0) < end_ms
            and (LAST_MS if row["to_at"] is None else row["to_at"]) >= start_ms
        ]
        self._lines = broker_lines([*self.causes, *self.findings])

    def epoch_at(self, at_ms: int) -> int | None:
        """The last epoch of a rebalance whose deciding record had been written by then, else its first."""
        begun = [row["epoch"] for row in self.epochs if (self._shown_at(row) or 0) <= at_ms]
        return max(begun, default=self.epochs[0]["epoch"] if self.epochs else None)

    def answer(self) -> dict[str, list[Any]]:
        """The parts that all answers have."""
        unknown = (
            marked_sentence(self.group_id, sentence, self.names)
            for epoch in self.epochs
            for sentence in unknowns_of_epoch(epoch, self._causes[epoch_key(epoch)])
        )
        return {
            "findings": [finding_facts(row, self.names) for row in self.findings[:ITEMS_MAX]],
            "broker_lines": [line_facts(*line, self.names) for line in self._lines[:ITEMS_MAX]],
            "not_known": list(dict.fromkeys(unknown)),
            "next_steps": list(dict.fromkeys(self._next_steps())),
        }

    def in_all(self) -> dict[str, int]:
        """How many there are of what `answer` cuts."""
        return {"findings": len(self.findings), "broker_lines": len(self._lines)}

    def _next_steps(self) -> Iterator[str]:
        """The advice of findings, and where the answer could become certain."""
        for row in self.findings[:ITEMS_MAX]:
            if advice := marked_sentence(self.group_id, advice_of(row), self.names):
                yield advice
        if any(log_would_settle(epoch, self._causes[epoch_key(epoch)]) for epoch in self.epochs):
            yield str(ADVICE)

    def _shown_at(self, epoch: TableRow) -> int | None:
        moments = (row["at"] for row in self._causes[epoch_key(epoch)] if row["cause_seq"] == 0)
        at_ms: int | None = next(moments, epoch["started_at"])
        return at_ms


def _ended_ms(row: TableRow) -> int:
    return LAST_MS if row["ended_at"] is None else int(row["ended_at"])


def _place(row: TableRow) -> tuple[int, int | None]:
    return row["incarnation"], row["rebalance_seq"]
