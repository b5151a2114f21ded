"""Members that are gone, while their return is evidence on the causes of the current epoch."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from rebalance_audit.audit.causes.departures import judged_again
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.verdicts.cause import RebalanceCause, Verdict
from rebalance_audit.replay.changes import MemberSubscribed

if TYPE_CHECKING:
    from rebalance_audit.audit.verdicts.departure_facts import DepartureFacts

AWAY_MS: Final = 30_000
"""Clients that were removed alive are back long before."""


class Away:
    """When a member last left, and the members whose rows wait for what comes next."""

    _left_at_ms: int | None
    """When a member last left (epoch ms); None if none has."""
    _stints: list[Stint]
    """Members that left a classic group empty."""

    def __init__(self) -> None:
        self._left_at_ms = None
        self._stints = []

    @property
    def has_rows(self) -> bool:
        """Whether rows of members wait."""
        return bool(self._stints)

    @property
    def since_ms(self) -> int | None:
        """Since when the group is empty (epoch ms) where rows of members wait."""
        return max((stint.left_at_ms or 0 for stint in self._stints), default=None)

    def wait(self, stint: Stint) -> None:
        """A member of a classic group is gone, and none is left."""
        self._stints.append(stint)

    def take_rows(self) -> list[Stint]:
        """The members whose rows wait, once."""
        stints, self._stints = self._stints, []
        return stints

    def note(self, verdict: Verdict) -> None:
        """A member is gone."""
        if verdict.cause is RebalanceCause.MEMBER_LEFT:
            self._left_at_ms = verdict.at_ms

    def after_leave_ms(self, at_ms: int) -> int | None:
        """How long before another member left; None if none has."""
        return None if self._left_at_ms is None else at_ms - self._left_at_ms


def ids_come_back(
    joined: Collection[MemberSubscribed], verdicts: tuple[Verdict, ...]
) -> tuple[Verdict, ...]:
    """The causes of the current epoch, now that these members join: a client keeps its id until it is closed."""
    at_ms = {change.member_id: change.position.record_timestamp_ms for change in joined}
    known: dict[str, DepartureFacts] = {}
    for verdict in verdicts:
        facts, member_id = verdict.facts, verdict.member_id
        if facts is not None and not facts.is_static and member_id in at_ms:
            back_ms = at_ms[member_id] - facts.gone_ms
            known[member_id] = facts._replace(back_ms=back_ms, kept_id=True)
    return judged_again(verdicts, known)


def clients_come_back(
    clients: Collection[tuple[str, str]], at_ms: int, verdicts: tuple[Verdict, ...]
) -> tuple[Verdict, ...]:
    """Verdicts once clients of a classic group join under new ids. `clients`: client ids and hosts."""
    waiting = list(clients)
    known: dict[str, DepartureFacts] = {}
    for verdict in verdicts:
        facts, member_id = verdict.facts, verdict.member_id
        if facts is None or member_id is None:
            continue
        after_ms = max(0, at_ms - facts.gone_ms)
        client = (verdict.client_id or "", verdict.client_host or "")
        if client in waiting:
            waiting.remove(client)
            known[member_id] = facts._replace(back_ms=after_ms)
        else:
            known[member_id] = facts._replace(away_ms=after_ms)
    return judged_again(verdicts, known)
