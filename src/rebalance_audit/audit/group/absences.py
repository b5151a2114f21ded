"""Members whose end is judged again once the log shows whether they come back."""

from collections.abc import Collection, Sequence
from typing import Protocol

from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.group.away import AWAY_MS, Away, clients_come_back, ids_come_back
from rebalance_audit.audit.group.rebalance import Rebalance
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.testimony.witness import Witness
from rebalance_audit.audit.verdicts.cause import departure_of
from rebalance_audit.replay.changes import MemberSubscribed


class LeftLife(Protocol):
    """What it needs of a group's life."""

    away: Away
    options: AuditOptions
    span: EpochSpan | None
    rebalance: Rebalance | None
    witness: Witness | None
    due_ms: int | None

    def emit_member(self, stint: Stint) -> None:
        """Emit the row of a member id."""


class Absences:
    """Judges the causes of the current epoch again, and emits the rows of members that waited for it."""

    def __init__(self, life: LeftLife) -> None:
        self._life = life

    def settle(self) -> None:
        """The log ends: if it shows long enough that the clients did not come back, they stay away."""
        life = self._life
        since_ms, end_ms = life.away.since_ms, life.options.log_end_ms
        if since_ms is not None and end_ms is not None:
            if end_ms >= since_ms + AWAY_MS:
                self.judge((), since_ms + AWAY_MS)
            else:
                life.due_ms = since_ms + AWAY_MS
        self._emit()

    def judge(self, clients: Collection[tuple[str, str]], at_ms: int) -> None:
        """A classic group that was left empty has these clients now (ids and hosts), or none by then (epoch ms)."""
        life = self._life
        if not life.away.has_rows:
            return
        if life.span is not None:
            life.span.verdicts = clients_come_back(clients, at_ms, life.span.verdicts)
            if life.rebalance is not None and life.rebalance.epochs == 1:
                life.rebalance.judge(life.span)
        self._emit()

    def come_back(self, joined: Sequence[MemberSubscribed]) -> None:
        """Members join: the end of a member id among them is now better known.

        A rebalance that is over has been reported, and which epoch of several had which cause is not known.
        """
        life, span, rebalance = self._life, self._life.span, self._life.rebalance
        if span is None or rebalance is None or rebalance.epochs > 1 or life.witness is not None:
            return
        span.verdicts = ids_come_back(joined, span.verdicts)
        rebalance.judge(span)

    def _emit(self) -> None:
        """Emit the rows of members that left the group empty, as the causes of the current epoch have them."""
        life = self._life
        verdicts = () if life.span is None else life.span.verdicts
        for stint in life.away.take_rows():
            verdict = departure_of(verdicts, stint.member_id)
            if verdict is not None:
                stint.left_how, stint.left_certainty = verdict.cause, verdict.certainty
            life.emit_member(stint)
