"""The answer about one group, before all details: who held it up, what set it off, what to do."""

from collections.abc import Iterator

from rebalance_audit.report import words
from rebalance_audit.report.gravity import gravest_first
from rebalance_audit.report.held_up import held_up_of
from rebalance_audit.report.longest import longest_of
from rebalance_audit.report.sentence import MemberId, Sentence, Stored
from rebalance_audit.report.summary import Tables, duration_of
from rebalance_audit.report.verdict import Verdicts, rebalance_heading, rebalance_name


def answer(own: Tables) -> Iterator[Sentence]:
    """Sentences about the longest rebalance of the group whose rows `own` holds; none where it had no rebalance."""
    found = longest_of(own["rebalances"])
    if found is None:
        return
    verdicts = Verdicts(own)
    row, count = found.rebalance, words.counted(found.of, "rebalance")
    if not found.stands_out:
        yield Sentence.plain(
            f"None of its {count} stands out: each took {words.likely(duration_of(row))} or less, "
            "as far as the log shows."
        )
    else:
        yield verdicts.held_up(row, f"The {'only' if found.of == 1 else 'longest'} rebalance")
        yield verdicts.set_off(row)
        yield from verdicts.ways(row)
        which = "the only one" if found.of == 1 else f"the longest of {count}"
        yield Sentence((f"This was {which}: ", rebalance_heading(row), "."))
        if found.rival is not None:
            yield Sentence(("May have been longer: ", rebalance_name(found.rival), "."))
    for holder in held_up_of(row)[:1]:
        times = sum(
            holder.name in {other.name for other in held_up_of(each)} for each in own["rebalances"]
        )
        if found.of > 1 and holder.member_id is not None:
            yield Sentence((MemberId(holder.member_id), f" held up {times} of {count}."))
    grave = gravest_first(own.get("findings", ()))
    if grave and grave[0]["severity"] != "info":
        yield Sentence(("What to do: ", Stored(grave[0]["advice"])))
