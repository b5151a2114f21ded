"""What decided a member's end, as a reason code with its facts."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from rebalance_audit.audit.causes.departure_model import WAYS, Posterior
from rebalance_audit.audit.commits.rhythm import SHOWS_RHYTHM
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.audit.verdicts.departure_facts import DepartureFacts
from rebalance_audit.sentences.of_departures import OF_DEPARTURES
from rebalance_audit.sentences.reason import CodedReason, because
from rebalance_audit.sentences.render import slots_of

_LEFT, _EXPIRED, _, _ = WAYS
_LEAST_SHARE: Final = 0.005
"""Ends that are less likely are not worth a word."""
_MOMENT_MS: Final = 500
"""A commit so shortly before the end needs no word on the time between."""


def reason_of(
    member_id: str, facts: DepartureFacts, posterior: Posterior, cause: RebalanceCause
) -> CodedReason:
    """What decided for the cause, against its strongest rival: an exclusion, or the evidence that weighs most."""
    code = _code(facts, posterior, cause)
    found = {slot: _FACTS[slot](member_id, facts, posterior) for slot in slots_of(code)}
    return CodedReason(code, found)


def _code(facts: DepartureFacts, posterior: Posterior, cause: RebalanceCause) -> str:
    if cause not in WAYS:
        return "undecided"
    rival = _LEFT if cause is not _LEFT else _EXPIRED
    for name in posterior.excluded:
        if rival is _EXPIRED and name in OF_DEPARTURES:
            return name
    own, other = WAYS.index(cause), WAYS.index(rival)
    ranked = sorted(
        ((scores[own] - scores[other], kind) for kind, scores in posterior.scores),
        key=lambda each: -each[0],
    )
    for gain, kind in ranked:
        code = f"{kind.name.lower()}.{cause.text}"
        if gain > 0 and code in OF_DEPARTURES:
            return "polled_late" if code == "timing.member_left" and _polled_late(facts) else code
    return f"timing.{cause.text}"


def _polled_late(facts: DepartureFacts) -> bool:
    since_ms = facts.since_commit_ms
    return since_ms is not None and facts.poll_ms is not None and since_ms >= facts.poll_ms > 0


def _sign(facts: DepartureFacts) -> CodedReason:
    return because("sign_join_phase" if facts.is_classic else "sign_record")


def _commit(member_id: str, facts: DepartureFacts) -> CodedReason:
    since_ms = facts.since_commit_ms
    if since_ms is None:
        return because(
            "no_commit_since", member=member_id, seen=facts.since_seen_ms, sign=_sign(facts)
        )
    known = {"member": member_id, "at": facts.gone_ms - since_ms, "since": since_ms}
    if since_ms <= _MOMENT_MS or (facts.sessions_ms and since_ms < min(facts.sessions_ms)):
        return CodedReason("committed_before", known)
    return CodedReason("last_committed", known | {"habit": _habit(facts, since_ms)})


def _habit(facts: DepartureFacts, since_ms: int) -> CodedReason | None:
    rhythm = facts.rhythm
    if rhythm is None or rhythm.commits < SHOWS_RHYTHM:
        return None
    if 2 * rhythm.longest_ms <= 3 * rhythm.interval_ms:
        return because("committed_every", interval=rhythm.interval_ms)
    if since_ms > rhythm.longest_ms:
        return because("never_paused", longest=rhythm.longest_ms)
    return None


def _pause_ms(facts: DepartureFacts) -> int:
    return (facts.rhythm and facts.rhythm.pause_ms) or 0


def _interval_ms(facts: DepartureFacts) -> int:
    return 0 if facts.rhythm is None else facts.rhythm.interval_ms


def _ends(posterior: Posterior) -> list[tuple[str, int]]:
    """The ends worth a word, with their shares in percent."""
    named = [pair for pair in posterior.ranked if pair[1] >= _LEAST_SHARE]
    return [(way.text, round(100 * share)) for way, share in named]


def _answers(facts: DepartureFacts) -> CodedReason:
    return because("never_answered" if facts.is_overdue else "client_back_first")


_FACTS: Final[Mapping[str, Callable[[str, DepartureFacts, Posterior], Any]]] = {
    "member": lambda member_id, _, __: member_id,
    "commit": lambda member_id, facts, _: _commit(member_id, facts),
    "heard": lambda _, facts, __: facts.since_seen_ms,
    "sign": lambda _, facts, __: _sign(facts),
    "sessions": lambda _, facts, __: list(facts.sessions_ms),
    "poll": lambda _, facts, __: facts.poll_ms or 0,
    "pause": lambda _, facts, __: _pause_ms(facts),
    "interval": lambda _, facts, __: _interval_ms(facts),
    "back": lambda _, facts, __: facts.back_ms or 0,
    "after": lambda _, facts, __: facts.after_leave_ms or 0,
    "others": lambda _, facts, __: facts.in_one_request,
    "together": lambda _, facts, __: facts.gone_together,
    "answers": lambda _, facts, __: _answers(facts),
    "ends": lambda _, __, posterior: _ends(posterior),
}
"""Slot -> its fact."""
