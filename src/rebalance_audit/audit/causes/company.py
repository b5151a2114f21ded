"""What it tells of the ends of classic members that others of the generation went with them."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from rebalance_audit.audit.causes.cause import RebalanceCause, Verdict
from rebalance_audit.audit.causes.classic_scene import ClassicScene
from rebalance_audit.audit.causes.silence import Silence, silence_of

_SEVERAL: Final = 3
"""So many processes do not die and start again by chance in one join phase."""
_TIMERS: Final = 2
"""So many do not close by chance just when their timers make them commit."""
_SHOW_WORK: Final = (RebalanceCause.MEMBER_LEFT, RebalanceCause.MEMBER_REMOVED_BY_ADMIN)


def removed_together(scene: ClassicScene, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether somebody removed several dynamic members at once: they were at work, and none of them closed.

    `verdicts`: on each member that is gone. Clients that are removed join again at once, in the same join phase.
    """
    assert scene.old is not None
    members = [scene.old.members[each] for each in verdicts]
    if len(members) < 2 or any(member.instance_id is not None for member in members):
        return False
    since_ms = scene.old.position.record_timestamp_ms
    new = [member for each, member in scene.new.members.items() if each not in scene.old.members]
    back = Counter((member.client_id, member.client_host) for member in new)
    back.subtract((member.client_id, member.client_host) for member in members)
    all_back, all_gone = min(back.values()) >= 0, len(members) == len(scene.old.members)
    if not all_back and not all_gone:
        return False  # Kafka's Admin removes all dynamic members of a group at once
    at_work, unsure = [], []
    for each, verdict in verdicts.items():
        silence = silence_of(scene.committed(scene.watches[each]), scene.new.position)
        if verdict.cause in _SHOW_WORK:
            if silence is not None:
                at_work.append((verdict, silence))
        elif verdict.cause is RebalanceCause.MEMBER_DEPARTED:
            unsure.append(each)
        elif not _may_have_been_at_work(
            verdict, silence, since_ms, several_back=all_back and len(members) >= _SEVERAL
        ):
            return False
    if any(
        silence.came_early(since_ms) is not False or silence.missed_its_timer
        for _, silence in at_work
    ):
        return False
    if sum(silence.is_on_time for _, silence in at_work) >= _TIMERS:
        return True
    if any(silence.may_have_closed(since_ms) for _, silence in at_work):
        return False
    if any(
        silence.is_due or verdict.cause is RebalanceCause.MEMBER_REMOVED_BY_ADMIN
        for verdict, silence in at_work
    ):
        return True
    if len(at_work) == len(members) < _SEVERAL and not all_gone:
        return False  # rather two instances that somebody restarts
    return all_back and not unsure


def _may_have_been_at_work(
    verdict: Verdict, silence: Silence | None, since_ms: int, *, several_back: bool = False
) -> bool:
    """Whether a member whose session seems to have run out may have been removed before it did.

    `several_back`: it is one of several that joined again at once.
    """
    return (
        verdict.cause is RebalanceCause.MEMBER_SESSION_EXPIRED
        and RebalanceCause.MEMBER_REMOVED_BY_ADMIN in verdict.alternatives
        and silence is not None
        and silence.keeps_session
        and (silence.missed_none or (several_back and silence.missed_none_but_rejoins))
        and silence.came_early(since_ms) is False
    )


def stopped_together(scene: ClassicScene, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether all members went, and all left of which anything is known: somebody stopped the application."""
    known = {verdict.cause for verdict in verdicts.values()} - {RebalanceCause.MEMBER_DEPARTED}
    return not scene.new.members and known == {RebalanceCause.MEMBER_LEFT}


def may_have_stopped_with_others(scene: ClassicScene, member_id: str | None) -> bool:
    """Whether a member can have been at work until the application was stopped: it missed no commit."""
    watch = scene.watches.get(member_id or "")
    silence = None if watch is None else silence_of(scene.committed(watch), scene.new.position)
    if silence is None:
        return True
    return not (silence.missed_its_timer or (silence.is_unusual and silence.had_to_commit))


def dropped_together(scene: ClassicScene) -> bool:
    """Whether somebody removed all the instances that came back: they were at work until the join phase began.

    Sessions that run out let the others make a commit more. Instances that restart in time need no join phase.
    """
    if len(scene.replaced) < 2:
        return False
    assert scene.old is not None
    since_ms = scene.old.position.record_timestamp_ms
    for before in scene.replaced.values():
        dropped = scene.absence(before.member_id)
        if dropped is None:
            return False
        silence = silence_of(scene.committed(scene.watches[before.member_id]), scene.new.position)
        if dropped.cause is not RebalanceCause.MEMBER_REMOVED_BY_ADMIN and not (
            _may_have_been_at_work(dropped, silence, since_ms)
        ):
            return False
    return True
