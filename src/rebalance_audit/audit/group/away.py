"""Members that are gone, as long as their return tells something about the causes of the current epoch."""

from collections.abc import Sequence

from rebalance_audit.audit.causes.cause import RebalanceCause, Verdict
from rebalance_audit.audit.causes.comebacks import Absence, after_return
from rebalance_audit.audit.causes.departures import after_another
from rebalance_audit.audit.causes.member_watch import MemberWatch
from rebalance_audit.audit.causes.silence import silence_of
from rebalance_audit.audit.commits.evidence import CommitEvidence
from rebalance_audit.replay.changes import MemberSubscribed, Position


class Away:
    """The dynamic members of a consumer group whose end is a cause of the current epoch."""

    _absences: dict[str, Absence]
    """By member id."""
    _left_at_ms: int | None
    """When a member last left (epoch ms); None if none has."""

    def __init__(self) -> None:
        self._absences = {}
        self._left_at_ms = None

    def note(self, watch: MemberWatch, gone: Position, commits: CommitEvidence | None) -> None:
        """A member is gone."""
        identity = watch.stint.identity
        absence = Absence.after(silence_of(commits, gone), identity.rebalance_timeout_ms)
        if absence is not None and identity.instance_id is None:
            self._absences[watch.stint.member_id] = absence

    def judged(self, verdict: Verdict) -> Verdict:
        """The verdict on a member's end, with those on the ends before it."""
        if self._left_at_ms is not None:
            verdict = after_another(verdict, verdict.at_ms - self._left_at_ms)
        if verdict.cause is RebalanceCause.MEMBER_LEFT:
            self._left_at_ms = verdict.at_ms
        return verdict

    def begin(self, verdicts: Sequence[Verdict]) -> None:
        """An epoch begins with these causes."""
        ended = {verdict.member_id for verdict in verdicts}
        self._absences = {each: away for each, away in self._absences.items() if each in ended}

    def come_back(
        self, joined: Sequence[MemberSubscribed], verdicts: tuple[Verdict, ...]
    ) -> tuple[Verdict, ...]:
        """The causes of the current epoch, now that these members join."""
        for change in joined:
            absence = self._absences.pop(change.member_id, None)
            if absence is not None:
                at_ms = change.position.record_timestamp_ms
                verdicts = tuple(
                    after_return(verdict, absence, at_ms)
                    if verdict.member_id == change.member_id
                    else verdict
                    for verdict in verdicts
                )
        return verdicts
