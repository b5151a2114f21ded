"""Answers about one group in sentences: why, how long, who, which partitions, and what is unknown and why.

Sentences carry whole member ids and full times in UTC; a terminal may shorten both.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.verdicts.cause import DEFINITIONS, RebalanceCause
from rebalance_audit.bounds import Bounds
from rebalance_audit.figures import present
from rebalance_audit.figures.groups import summaries
from rebalance_audit.figures.ranking import longest_of, most_severe_first
from rebalance_audit.figures.rows import (
    TableRow,
    Tables,
    bounds_in,
    duration_of,
    epoch_began_at,
    epoch_noun,
    is_classic,
)
from rebalance_audit.report import causes, deploys
from rebalance_audit.report.answer import answer
from rebalance_audit.report.at_moment import sentences_at
from rebalance_audit.report.epoch_sentences import (
    cost_in_total,
    cost_of,
    outcome,
    partition_sentences,
    without_owner,
)
from rebalance_audit.report.row_sentences import advice_of, detail_of, evidence_of, rests_on_log
from rebalance_audit.report.unknowns import (
    ADVICE,
    advice_for_group,
    log_would_settle,
    unknowns_of_epoch,
    unknowns_of_group,
)
from rebalance_audit.report.verdict import (
    HeldUp,
    Verdicts,
    held_up_of,
    rebalance_heading,
    time_sentence,
)
from rebalance_audit.sentences import words
from rebalance_audit.sentences.render import filled
from rebalance_audit.sentences.sentence import EvidenceSentence, MemberId, Name, Sentence

EVIDENCE_SHOWN: Final = 3
MEMBERS_SHOWN: Final = 3

_CERTAINTY_WORDS: Final = {
    "proven": "The records admit no other cause",
    "probable": "This is probable, not proven",
    "possible": "This is one possibility of several",
}
_MEANWHILE_WORDS: Final = {**_CERTAINTY_WORDS, "proven": "The records show that it happened"}
_NOT_REACHED: Final = {
    "superseded": "It was never reached by every member: epoch {superseded_by} took its place.",
    "emptied": "It left the group without members, so there was no target to reach.",
    "open": "Not every member had reached it when the log ended.",
}
"""Outcome of an epoch -> why its members did not reach it."""
_LOGGED_WORDS: Final = "The broker's log proves it"


class Section(NamedTuple):
    """One question and the sentences that answer it."""

    title: str
    sentences: list[Sentence]


class Explanation(NamedTuple):
    """The sentences, and the rows that they are based on."""

    heading: Sentence
    sections: list[Section]
    rows: Mapping[str, Any]
    """For programs: rows by kind (`epoch`, `rebalance`, `causes`, `convergence`, `findings`, `deploys`)."""


def explain_group(
    own: Tables,
    end_ms: int | None,
    *,
    every_epoch: bool = False,
    has_broker_log: bool = False,
) -> Explanation:
    """The group as a whole; `own` holds the rows of one group, and has epochs or states.

    `end_ms`: when the log ends (epoch ms); None where that is not known. `has_broker_log`: the audit was given brokers'
    logs, so it is no use to ask for them.
    """
    summary = summaries(own)[0]
    rebalances = own["rebalances"]
    state = present.group_text(summary.present)
    heading = Sentence((Name(summary.group_id), f" is {state} at the end of the log."))
    protocols = " then ".join(summary.protocols) or "not known"
    epochs = words.counted(summary.epochs, summary.epoch_noun)
    rebalances_text = words.counted(summary.rebalances, "rebalance")
    went = f"It went through {epochs} in {rebalances_text}; protocol: {protocols}"
    kind = (", protocol type ", Name(summary.protocol_type)) if summary.protocol_type else ()
    how_often = [Sentence((went, *kind, "."))]
    if summary.not_stable.most != 0:
        lasted = words.bounds_in_sentence(summary.not_stable)
        how_often.append(Sentence.plain(f"It was rebalancing for {lasted} in total."))
        how_often += without_owner("Its partitions were", summary.unowned)
    how_often += cost_in_total(rebalances)
    why = _why_mostly(own)
    longest = longest_of(rebalances)
    short = list(answer(own, end_ms))
    has_broker_log = has_broker_log or any(map(rests_on_log, own["rebalance_causes"]))
    last = max(rebalances, key=lambda row: (row["incarnation"], row["rebalance_seq"]), default=None)
    is_open = last is not None and last["ended_at"] is None
    shown = last if is_open or longest is None else longest.rebalance
    if shown is not None and shown["first_epoch"] is not None:
        example = f"Evidence: add --epoch {shown['first_epoch']}; every {summary.epoch_noun}: add --epochs."
        short.append(Sentence.plain(example))
    if not has_broker_log:
        short += advice_for_group(own)
    sections = [
        Section("In short", short),
        Section("How often", how_often),
        Section("Why, mostly", why),
    ]
    if last is not None and not is_open and (longest is None or last is not longest.rebalance):
        sections.append(Section("The last rebalance", list(_rebalance(own, last))))
    sections.append(Section("Deploys", list(deploys.sentences_of_group(own))))
    sections += _findings(own)
    if every_epoch:
        sections.append(Section(f"Every {summary.epoch_noun}", list(_every_epoch(own))))
    unknown = unknowns_of_group(own, has_broker_log=has_broker_log)
    sections.append(Section("Not known", list(dict.fromkeys(unknown))))
    rows = {"rebalances": rebalances, "findings": own.get("findings", ()), **_deploys_in(own)}
    return Explanation(heading, [section for section in sections if section.sentences], rows)


def _every_epoch(own: Tables) -> Iterator[Sentence]:
    """A sentence for each, the newest first."""
    verdicts = Verdicts(own)
    for epoch in sorted(own["epochs"], key=_key, reverse=True):
        life = f" of life {epoch['incarnation'] + 1}" if epoch["incarnation"] else ""
        yield filled(
            "{which}, {at:moment}: {causes}; {outcome}.",
            which=f"{_noun(epoch)} {epoch['epoch']}{life}",
            at=epoch_began_at(epoch),
            causes=verdicts.causes_of(epoch),
            outcome=outcome(epoch),
        )


def explain_epoch(
    own: Tables,
    epoch: TableRow,
    log_end_ms: int | None,
    moment_ms: int | None = None,
    *,
    has_broker_log: bool = False,
) -> Explanation:
    """One epoch or generation; with `moment_ms` (epoch milliseconds) also the group at that time.

    `log_end_ms`: when the log ends (epoch ms); None where that is not known. `has_broker_log`: the audit was given
    brokers' logs, so it is no use to ask for them.
    """
    key = (epoch["incarnation"], epoch["epoch"])
    its_causes = [row for row in own["rebalance_causes"] if _key(row) == key]
    progress = [row for row in own["convergence"] if _key(row) == key]
    of_life = (row for row in own["rebalances"] if row["incarnation"] == epoch["incarnation"])
    own_seq = epoch["rebalance_seq"]
    rebalance = next((row for row in of_life if row["rebalance_seq"] == own_seq), None)
    end_ms = _end_of(own, epoch)
    held_up = () if rebalance is None else held_up_of(rebalance)
    time = [] if rebalance is None else [time_sentence(rebalance)]
    sections = []
    has_broker_log = has_broker_log or any(map(rests_on_log, own["rebalance_causes"]))
    short = list(_epoch_in_short(own, epoch, rebalance, log_end_ms))
    if not has_broker_log and log_would_settle(epoch, its_causes):
        short.insert(2, ADVICE)
    sections.append(Section("In short", short))
    if moment_ms is not None:
        sections.append(Section(f"At {words.utc(moment_ms)}", list(sentences_at(own, moment_ms))))
    sections += [
        Section("Why", list(_why(its_causes))),
        Section("Deploys", list(deploys.sentences_of_rebalance(own, rebalance))),
        Section("How long", list(_how_long(epoch, rebalance))),
        Section("Who held it up", [*filter(None, time), *_who(progress, held_up)]),
        Section("Partitions", list(partition_sentences(epoch, own["ownership"], end_ms))),
    ]
    near = [row for row in own.get("findings", ()) if _overlaps(row, epoch, end_ms)]
    sections += _findings({**own, "findings": near})
    unknown = unknowns_of_epoch(epoch, its_causes, has_broker_log=has_broker_log)
    sections.append(Section("Not known", list(unknown)))
    rows = {
        "epoch": epoch,
        "rebalance": rebalance,
        "causes": its_causes,
        "convergence": progress,
        "findings": near,
        **_deploys_in(own),
    }
    heading = filled(
        "{noun} {epoch} of {group_id:name} began at {at:moment}.",
        epoch,
        noun=_noun(epoch),
        at=epoch_began_at(epoch),
    )
    return Explanation(heading, [section for section in sections if section.sentences], rows)


def _epoch_in_short(
    own: Tables, epoch: TableRow, rebalance: TableRow | None, log_end_ms: int | None
) -> Iterator[Sentence]:
    verdicts = Verdicts(own, log_end_ms)
    yield Sentence(("Cause: ", verdicts.causes_of(epoch), "."))
    if rebalance is None:
        return
    if rebalance["ended_at"] is None:
        yield from verdicts.now(rebalance, "The group")
    else:
        yield verdicts.held_up(rebalance, "The rebalance")
    cost = cost_of(rebalance)
    if cost is not None:
        yield cost
    if rebalance["epochs"] != 1:
        heading, set_off = rebalance_heading(rebalance), verdicts.set_off(rebalance)
        yield Sentence(("This rebalance: ", heading, ". ", set_off))
    if rebalance["ended_at"] is not None:
        yield from verdicts.ways(rebalance)


def epoch_at(own: Tables, moment_ms: int) -> TableRow | None:
    """The group's current epoch at that time; None before the first."""
    begun = [row for row in own["epochs"] if (epoch_began_at(row) or 0) <= moment_ms]
    return max(begun, key=lambda row: (row["incarnation"], row["epoch"]), default=None)


# --- sentences -----------------------------------------------------------------------------------


def _deploys_in(own: Tables) -> Mapping[str, Sequence[TableRow]]:
    """Only where rollouts were given."""
    return {"deploys": own["deploys"]} if "deploys" in own else {}


def _noun(epoch: TableRow) -> str:
    return "Generation" if is_classic(epoch) else "Epoch"


def _key(row: TableRow) -> tuple[int, int]:
    return row["incarnation"], row["epoch"]


def _end_of(own: Tables, epoch: TableRow) -> int | None:
    later = [
        epoch_began_at(row) or 0
        for row in own["epochs"]
        if _key(row) > _key(epoch) and row["incarnation"] == epoch["incarnation"]
    ]
    return min(later, default=None)


def _why(its_causes: Sequence[TableRow]) -> Iterator[Sentence]:
    for row in sorted(its_causes, key=lambda row: row["cause_seq"]):
        beside = causes.is_meanwhile(row)
        lead = "Meanwhile: " if beside else "Began by: " if row["cause_seq"] == 0 else "Also: "
        sure = (_MEANWHILE_WORDS if beside else _CERTAINTY_WORDS)[row["certainty"]]
        if row["certainty"] == "proven" and rests_on_log(row):
            sure = _LOGGED_WORDS
        if others := ", ".join(map(causes.label, row["alternatives"] or ())):
            sure += f"; not excluded: {others}"
        said = "{lead}{cause:label}. {detail} {sure}."
        yield filled(said, row, lead=lead, detail=detail_of(row), sure=sure)
        # What a broker said comes first: it decides where records alone do not.
        found = sorted(evidence_of(row), key=attrgetter("is_logged"), reverse=True)
        for item in found[:EVIDENCE_SHOWN]:
            yield EvidenceSentence(("Evidence: ", item.fact, f" ({item.source})."))


def _how_long(epoch: TableRow, rebalance: TableRow | None) -> Iterator[Sentence]:
    if is_classic(epoch):
        yield from _how_long_classic(epoch)
    elif epoch["converged_at"] is not None:
        yield filled(
            "Every member had reached it {convergence_ms:duration} later, at {converged_at:moment}: "
            "{assign_ms:duration} until the target assignment, {reconcile_ms:duration} until the last member had taken "
            "it up.",
            epoch,
        )
    elif (not_reached := _NOT_REACHED.get(epoch["outcome"])) is not None:
        yield filled(not_reached, epoch)
    if rebalance is not None and rebalance["epochs"] and rebalance["epochs"] > 1:
        took = (
            f"took {words.bounds_in_sentence(duration_of(rebalance))}"
            if rebalance["ended_at"] is not None
            else "was still going on when the log ended"
        )
        count = words.counted(rebalance["epochs"], epoch_noun([rebalance]))
        which = "It belongs to a rebalance of {count}, {first_epoch} to {last_epoch}, which {took}."
        yield filled(which, rebalance, count=count, took=took)


def _how_long_classic(epoch: TableRow) -> Iterator[Sentence]:
    if epoch["sync_ms"] is not None:
        yield filled(
            "The leader's assignment arrived {sync_ms:duration} after the end of the join phase, at "
            "{converged_at:moment}.",
            epoch,
        )
    earliest, latest = epoch["join_started_earliest"], epoch["join_started_latest"]
    if earliest is not None and earliest == latest:
        took = bounds_in(epoch, "not_stable") or Bounds.exactly(
            (epoch["converged_at"] or earliest) - earliest
        )
        yield filled(
            "The join phase began at {at:moment}, so the rebalance took {took}.",
            at=earliest,
            took=words.bounds_in_sentence(took),
        )
    elif earliest is not None and latest is not None:
        yield filled(
            "The join phase began between {join_started_earliest:moment} and {join_started_latest:moment}, so the "
            "rebalance took between {least:duration} and {most:duration}.",
            epoch,
            least=(epoch["converged_at"] or latest) - latest,
            most=(epoch["converged_at"] or latest) - earliest,
        )


def _who(progress: Sequence[TableRow], held_up: Sequence[HeldUp]) -> Iterator[Sentence]:
    named = [holder.member_id for holder in held_up if holder.member_id is not None]
    waited = sorted(
        (row for row in progress if row["waited_ms"]), key=lambda row: -row["waited_ms"]
    )
    for row in waited[:MEMBERS_SHOWN]:
        # Of those that had something to release, only those count that took time to do so.
        awaited = set(row["waited_for"] or ())
        for_whom = Sentence.joined(", ", (MemberId(each) for each in named if each in awaited))
        for_them = Sentence((" for ", for_whom, " to release partitions")) if for_whom else ""
        yield filled(
            "{member_id:member} waited {waited_ms:duration}{for_them}.", row, for_them=for_them
        )
    revoked = sorted(
        (row for row in progress if row["revoke_ms"] and row["member_id"] in named),
        key=lambda row: -row["revoke_ms"],
    )
    for row in revoked[:MEMBERS_SHOWN]:
        count = words.counted(row["partitions_revoked"] or 0, "partition")
        took = "{member_id:member} took {revoke_ms:duration} to give up {count}."
        yield filled(took, row, count=count)
    for row in progress:
        if row["revoke_started_at"] is not None and row["revoked_at"] is None:
            yield filled(
                "{member_id:member} was asked to give up partitions at {revoke_started_at:moment} and did not.",
                row,
            )


def _findings(own: Tables) -> list[Section]:
    sentences = [
        filled(
            "{severity}: {kind:label}. {detail} {advice}",
            row,
            detail=detail_of(row),
            advice=advice_of(row),
        )
        for row in most_severe_first(own)
    ]
    return [Section("Findings", sentences)] if sentences else []


def _overlaps(finding: TableRow, epoch: TableRow, end_ms: int | None) -> bool:
    start_ms = epoch_began_at(epoch)
    # Offset commits do not show the group's life.
    if start_ms is None or finding["incarnation"] not in (None, epoch["incarnation"]):
        return False
    ends_before = finding["to_at"] is not None and finding["to_at"] < start_ms
    return not ends_before and (end_ms is None or finding["from_at"] < end_ms)


def _why_mostly(own: Tables) -> list[Sentence]:
    counts = Counter(row["primary_cause"] for row in own["epochs"] if row["primary_cause"])
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    noun = epoch_noun(own["epochs"])
    return [
        Sentence(
            (
                f"{causes.label(cause)}, {words.counted(times, noun)}: ",
                DEFINITIONS[RebalanceCause(cause)],
            )
        )
        for cause, times in ranked[:5]
    ]


def _rebalance(own: Tables, row: TableRow) -> Iterator[Sentence]:
    verdicts = Verdicts(own)
    first, *others = rebalance_heading(row).parts
    yield Sentence((f"{first[:1].upper()}{first[1:]}", *others, "."))
    cost = cost_of(row)
    if cost is not None:
        yield cost
    if held_up_of(row):
        yield verdicts.held_up(row)
        yield from verdicts.ways(row)
    yield from filter(None, [time_sentence(row)])
    yield verdicts.set_off(row)
