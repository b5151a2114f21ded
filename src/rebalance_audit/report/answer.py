"""The answer about one group, before all details: who held it up, what set it off, what to do."""

from collections.abc import Iterator

from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.figures.present import present_of, waits
from rebalance_audit.figures.ranking import Longest, longest_of, most_severe_first
from rebalance_audit.figures.rows import Tables
from rebalance_audit.report.held_up import held_up_of
from rebalance_audit.report.row_sentences import advice_of, detail_of
from rebalance_audit.report.verdict import Verdicts, rebalance_heading
from rebalance_audit.report.verdict_advice import advice_on
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import MemberId, MomentUtc, Sentence


def answer(own: Tables, end_ms: int | None) -> Iterator[Sentence]:
    """Sentences about the group whose rows `own` holds: for whom it waits, the longest rebalance, what to do.

    `end_ms`: when the log ends (epoch ms); None where that is not known.
    """
    longest = longest_of(own["rebalances"])
    yield from worst_rebalances(own, longest, end_ms)
    yield from _how_often(own, longest)
    yield from _what_to_do(own, longest)


def _what_to_do(own: Tables, longest: Longest | None) -> Iterator[Sentence]:
    """The advice on the rebalance that was named first; then a critical finding by name, with its own advice."""
    findings = most_severe_first(own)
    named = [row for row in own["rebalances"] if row["ended_at"] is None]
    if longest is not None:
        named.append(longest.rebalance)
    on_culprits = (advice_on(row, findings) for row in named)
    advice = next((found for found in on_culprits if found is not None), None)
    if advice is not None:
        yield Sentence(("What to do: ", advice))
    for row in findings[:1]:
        if row["severity"] == Severity.CRITICAL and advice_of(row) != advice:
            yield Sentence(("Critical: ", detail_of(row), " What to do: ", advice_of(row)))


def worst_rebalances(
    own: Tables, longest: Longest | None, end_ms: int | None
) -> Iterator[Sentence]:
    """For whom the group waits when the log ends, then the longest rebalance: who held it up, what set it off.

    Where none stands out even by its estimate, that comes first, with the bound that holds for all.
    """
    verdicts = Verdicts(own, end_ms)
    still_open = [row for row in own["rebalances"] if row["ended_at"] is None]
    for row in still_open:
        yield from filter(None, [*verdicts.now(row), verdicts.set_off(row)])
    present = present_of(own["group_states"])
    if present is not None and not still_open:
        yield from waits(present, "It", None, end_ms)
    if longest is not None:
        yield from _longest(longest, verdicts, is_any_open=bool(still_open))


def _longest(found: Longest, verdicts: Verdicts, *, is_any_open: bool) -> Iterator[Sentence]:
    row, count = found.rebalance, words.counted(found.of, "rebalance")
    aside = ", the group's creation aside" if found.leaves_creation_aside else ""
    ended = "that ended " if is_any_open else ""
    if not found.is_likely:
        lasted = "the log has no upper bound for some of them."
        if found.most_ms is not None:
            most = words.duration(found.most_ms)
            lasted = f"each {ended}took {most} or less, as far as the log shows."
        yield Sentence.plain(f"None of its {count} stands out{aside}: {lasted}")
        at, why = MomentUtc(row["ended_at"]), verdicts.set_off(row)
        yield Sentence(("The one until ", at, " may have been the longest. ", why))
        return
    likely = "" if found.stands_out else "likely "
    which = "only" if found.of == 1 else f"{likely}longest"
    yield verdicts.held_up(row, f"The {which} rebalance{' that ended' * is_any_open}")
    yield verdicts.set_off(row)
    yield from verdicts.ways(row)
    if found.of == 1:
        which = "This was the only one"
    elif found.rival is None:
        which = f"This was the longest {ended}of {count}{aside}"
    else:
        sure = "the longest that is certain" if found.stands_out else "likely the longest"
        which = f"Of {count}{aside}, this was {sure}"
    yield Sentence((f"{which}: ", rebalance_heading(row), "."))
    if found.rival is not None:
        yield Sentence(("May have been longer: ", rebalance_heading(found.rival), "."))


def _how_often(own: Tables, found: Longest | None) -> Iterator[Sentence]:
    if found is None or not found.is_likely or found.of == 1:
        return
    for holder in held_up_of(found.rebalance)[:1]:
        times = sum(
            holder.name in {other.name for other in held_up_of(each)} for each in own["rebalances"]
        )
        if holder.member_id is not None:
            count = words.counted(len(own["rebalances"]), "rebalance")
            yield Sentence((MemberId(holder.member_id), f" held up {times} of {count}."))
