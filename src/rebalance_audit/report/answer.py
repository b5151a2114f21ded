"""The answer about one group, before all details: who held it up, what set it off, what to do."""

from collections.abc import Iterator

from rebalance_audit.report import words
from rebalance_audit.report.gravity import gravest_first
from rebalance_audit.report.sentence import MemberId, Sentence, Stored
from rebalance_audit.report.summary import Tables, estimate_of
from rebalance_audit.report.verdict import Verdicts, rebalance_heading


def answer(own: Tables) -> Iterator[Sentence]:
    """Sentences about the longest rebalance of the group whose rows `own` holds; none where it had no rebalance."""
    longest = max(own["rebalances"], key=estimate_of, default=None)
    if longest is None:
        return
    verdicts = Verdicts(own)
    rebalances = own["rebalances"]
    only = len(rebalances) == 1
    yield verdicts.held_up(longest, f"The {'only' if only else 'longest'} rebalance")
    yield verdicts.set_off(longest)
    yield from verdicts.ways(longest)
    count = words.counted(len(rebalances), "rebalance")
    which = "the only one" if only else f"the longest of {count}"
    yield Sentence((f"This was {which}: ", rebalance_heading(longest), "."))
    for holder in verdicts.holders(longest)[:1]:
        times = sum(
            holder.member_id in {other.member_id for other in verdicts.holders(row)}
            for row in rebalances
        )
        if not only and holder.kept_ms is not None:
            yield Sentence((MemberId(holder.member_id), f" held up {times} of {count}."))
    grave = gravest_first(own.get("findings", ()))
    if grave and grave[0]["severity"] != "info":
        yield Sentence(("What to do: ", Stored(grave[0]["advice"])))
