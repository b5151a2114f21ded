"""The verdict on all groups in one sentence: the worst thing, who held it up, whether it is over, what to do."""

from typing import NamedTuple

from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.bounds import WORTH_NAMING_MS
from rebalance_audit.figures.present import present_of, waits
from rebalance_audit.figures.ranking import longest_of, most_severe_first
from rebalance_audit.figures.rows import TableRow, Tables, rank_of
from rebalance_audit.report.causes import label
from rebalance_audit.report.row_sentences import advice_of, detail_of
from rebalance_audit.report.verdict import Verdicts
from rebalance_audit.report.verdict_advice import advice_on
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import Name, Sentence


class Worst(NamedTuple):
    """What a reader should know first."""

    group_id: str
    """Empty where nothing stands out, or where it concerns no single group."""
    sentence: Sentence
    rebalance: TableRow | None = None
    """The rebalance that it is about, if it is about one."""


def worst_of(tables: Tables, end_ms: int | None) -> Worst:
    """A rebalance that goes on, else a critical finding, else the longest rebalance; or that nothing stands out.

    `end_ms`: when the log ends (epoch ms); None where that is not known.
    """
    found = most_severe_first(tables)
    rebalance, waiting = _rebalance(tables), _waiting(tables, end_ms)
    is_open = rebalance is not None and rebalance["ended_at"] is None
    if waiting is not None and not is_open:
        return waiting
    if found and found[0]["severity"] == Severity.CRITICAL and not is_open:
        return _finding(found[0])
    if rebalance is not None:
        group_id, verdicts = rebalance["group_id"], Verdicts(tables, end_ms)
        of_group = [row for row in tables["rebalances"] if row["group_id"] == group_id]
        longest = longest_of(of_group)
        likely = "" if longest is not None and longest.stands_out else "likely "
        what = Sentence((Name(group_id), f": {likely}its longest rebalance"))
        said = (
            Sentence.joined(" ", verdicts.now(rebalance, Name(group_id)))
            if is_open
            else Sentence((verdicts.held_up(rebalance, what), " It is over."))
        )
        parts = [said, *_what_to_do(advice_on(rebalance, found))]
        return Worst(group_id, Sentence(parts), rebalance)
    if found:
        return _finding(found[0])
    short = words.duration(WORTH_NAMING_MS)
    return Worst(
        "",
        Sentence.plain(
            f"No rebalance is known to have taken {short} or more, and there are no findings."
        ),
    )


def _rebalance(tables: Tables) -> TableRow | None:
    """One that has been going on for so long that it is worth naming, the oldest first, else the longest."""
    of_group: dict[str, list[TableRow]] = {}
    for row in tables["rebalances"]:
        of_group.setdefault(row["group_id"], []).append(row)
    still_open = [
        row
        for row in tables["rebalances"]
        if row["ended_at"] is None and max(rank_of(row)) >= WORTH_NAMING_MS
    ]
    if still_open:
        return min(still_open, key=lambda row: (row["started_at"] or 0, row["group_id"]))
    longest = [found.rebalance for rows in of_group.values() if (found := longest_of(rows))]
    worst = max(longest, key=lambda row: (rank_of(row), row["group_id"]), default=None)
    return None if worst is None or max(rank_of(worst)) < WORTH_NAMING_MS else worst


def _waiting(tables: Tables, end_ms: int | None) -> Worst | None:
    """A group that waits without an epoch that goes on in the log, the one that has waited longest."""
    of_group: dict[str, list[TableRow]] = {}
    for row in tables.get("group_states", ()):
        if row.get("awaited") or row.get("coordinator_state"):
            of_group.setdefault(row["group_id"], []).append(row)
    found = []
    for group_id, rows in of_group.items():
        present = present_of(rows)
        since_ms = None if present is None else present.waits_since_ms
        if present is not None and since_ms is not None:
            found.append((since_ms, group_id, present))
    for since_ms, group_id, present in sorted(found)[:1]:
        if end_ms is not None and end_ms - since_ms >= WORTH_NAMING_MS:
            said = waits(present, Name(group_id), None, end_ms)
            return Worst(group_id, Sentence.joined(" ", said))
    return None


def _finding(row: TableRow) -> Worst:
    over = "It is still going on." if row["to_at"] is None else "It is over."
    who = [] if row["group_id"] is None else [Name(row["group_id"]), ": "]
    parts = [*who, f"{label(row['kind'])}. ", detail_of(row), f" {over}"]
    return Worst(row["group_id"] or "", Sentence([*parts, *_what_to_do(advice_of(row))]))


def _what_to_do(advice: Sentence | None) -> list[str]:
    return [] if advice is None else [" What to do: ", advice]
