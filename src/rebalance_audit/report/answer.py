"""The answers before all details: on one group, on all groups, and on a rebalance as `watch` reports it.

Who held it up, what set it off, whether it is over, what to do: the same words on every surface.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.bounds import WORTH_NAMING_MS
from rebalance_audit.figures.present import present_of, waits
from rebalance_audit.figures.ranking import Longest, longest_of, most_severe_first
from rebalance_audit.figures.rows import TableRow, Tables, is_open_join_phase, rank_of
from rebalance_audit.report.causes import label
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.row_sentences import advice_of, detail_of
from rebalance_audit.report.verdict import HeldUp, Verdicts, held_up_of, rebalance_heading
from rebalance_audit.sentences import words
from rebalance_audit.sentences.of_advice import OF_ADVICE
from rebalance_audit.sentences.reason import because
from rebalance_audit.sentences.render import filled, sentence_of, slots_of
from rebalance_audit.sentences.sentence import MemberId, MomentUtc, Name, Sentence

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "kept_partitions": frozenset(
        {"slow_revoker", "revoker_blocked_by_deleted_topic", "slow_member", "stuck_group"}
    ),
    "did_not_rejoin": frozenset(
        {
            *("slow_revoker", "revoker_blocked_by_deleted_topic", "session_expiries"),
            *("stuck_group", "coordinator_moved"),
        }
    ),
    "silent": frozenset({"session_expiries", "silent_member", "slow_member", "coordinator_moved"}),
    "had_left": frozenset({"flapping_member", "instance_id_conflict", "instance_id_refused"}),
    "coordinator": frozenset({"coordinator_moved", "coordinator_trouble", "group_not_served"}),
}
"""How a member held a rebalance up -> the kinds of findings whose advice is about that."""


_OF_CAUSES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("member_joined", "member_left", "group_emptied"),
        "advice.came_or_went",
    ),
    **dict.fromkeys(("static_member_joined", "group_created"), "advice.came"),
    **dict.fromkeys(
        (
            *("member_session_expired", "static_member_expired", "member_rebalance_timeout"),
            *("member_departed", "pending_member_expired"),
        ),
        "advice.gone",
    ),
    **dict.fromkeys(
        (
            *("subscription_changed", "topic_metadata_changed", "regex_resolved"),
            *("assignor_changed", "client_assignor_requested"),
        ),
        "advice.changed",
    ),
}
"""What set a rebalance off -> the code of the advice where no member is known to have held it up."""


def advice_on(rebalance: TableRow, findings: Iterable[TableRow]) -> Sentence | None:
    """The advice of the first of `findings` that is about whoever mainly held `rebalance` up.

    A finding is about it if it has the same group, time, member and way of holding others up. Without one, the advice
    on the way of holding up, on the rollout to which it belongs, or on what set it off; None if it was short.
    """
    findings = list(findings)
    holder = next(iter(held_up_of(rebalance)), None)
    if holder is not None:
        if rebalance["ended_at"] is None and (now := _advice(f"advice.now.{holder.why}", holder)):
            return now
        for row in findings:
            if _is_about(row, holder, rebalance):
                return advice_of(row)
    if rebalance["ended_at"] is not None and max(rank_of(rebalance)) < WORTH_NAMING_MS:
        return None
    if holder is not None and (advice := _advice(f"advice.{holder.why}", holder)):
        return advice
    if is_open_join_phase(rebalance):
        return sentence_of(because("advice.join_phase"))
    code = _OF_CAUSES.get(rebalance.get("primary_cause") or "", "advice.unknown_cause")
    if code == "advice.came_or_went":
        for row in findings:
            if row["kind"] == "deploy_wave" and _is_in(row, rebalance):
                return advice_of(row)
    return sentence_of(because(code))


def _advice(code: str, holder: HeldUp) -> Sentence | None:
    """The advice with this code about one for whom the group waits; None where there is none."""
    if code not in OF_ADVICE:
        return None
    return sentence_of(because(code, **dict.fromkeys(slots_of(code), holder.member_id)))


def _is_in(rollout: TableRow, rebalance: TableRow) -> bool:
    ended_ms = rebalance["ended_at"] or rebalance["started_at"]
    return bool(
        rollout["group_id"] == rebalance["group_id"]
        and rollout["incarnation"] in {None, rebalance["incarnation"]}
        and rollout["from_at"] <= ended_ms
        and rebalance["started_at"] <= (rollout["to_at"] or ended_ms)
    )


def _is_about(finding: TableRow, holder: HeldUp, rebalance: TableRow) -> bool:
    return (
        finding["kind"] in KINDS.get(holder.why, ())
        and finding["group_id"] == rebalance["group_id"]
        and finding["incarnation"] in {None, rebalance["incarnation"]}
        and (holder.member_id is None or holder.member_id in (finding["member_ids"] or ()))
        and _overlaps(finding, holder, rebalance)
    )


def _overlaps(finding: TableRow, holder: HeldUp, rebalance: TableRow) -> bool:
    """Whether both share a moment; a silent member is waited for before the rebalance that removes it."""
    began = [rebalance["started_at"], rebalance.get("started_at_earliest")]
    if holder.to_ms is not None and holder.ms is not None:
        began.append(holder.to_ms - holder.ms)
    began_ms = min((at_ms for at_ms in began if at_ms is not None), default=0)
    ended_ms, from_ms, to_ms = rebalance["ended_at"], finding["from_at"], finding["to_at"]
    starts_in_time = from_ms is None or ended_ms is None or from_ms <= ended_ms
    return starts_in_time and (to_ms is None or to_ms >= began_ms)


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


def opening_sentence(tables: Tables, since_ms: int, log_end_ms: int | None) -> str:
    """The verdict on all groups with which `watch` begins; `tables`: what ended since `since_ms`, and what goes on."""
    worst = worst_of(tables, log_end_ms)
    said = MemberNames(tables["members"]).in_sentence(worst.group_id, worst.sentence)
    ends = f" Log ends at {words.utc(log_end_ms)}." if log_end_ms is not None else ""
    return f"{said} Covers rebalances since {words.utc(since_ms)}.{ends}"


def rebalance_sentence(
    rebalance: Mapping[str, Any],
    tables: Tables,
    times_reported: int = 0,
) -> str:
    """One line on one rebalance; `times_reported`: how often other things were said of it before."""
    sentence = filled(
        "{group_id:name}{again}: {heading}. {verdict}",
        rebalance,
        again=", by what is known now" if times_reported else "",
        heading=rebalance_heading(dict(rebalance)),
        verdict=Verdicts(tables).short(dict(rebalance)),
    )
    return MemberNames(tables["members"]).in_sentence(rebalance["group_id"], sentence)


class Worst(NamedTuple):
    """What a reader should know first."""

    group_id: str
    """Empty if there is nothing to report, or if it is not about a single group."""
    sentence: Sentence
    rebalance: TableRow | None = None
    """The rebalance that it is about, if it is about one."""


def worst_of(tables: Tables, end_ms: int | None) -> Worst:
    """An ongoing rebalance, else a critical finding, else the longest rebalance, else that there is nothing to report.

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
        parts = [said, *_and_what_to_do(advice_on(rebalance, found))]
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
    return Worst(row["group_id"] or "", Sentence([*parts, *_and_what_to_do(advice_of(row))]))


def _and_what_to_do(advice: Sentence | None) -> list[str]:
    return [] if advice is None else [" What to do: ", advice]
