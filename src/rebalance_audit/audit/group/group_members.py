"""The member ids of one group: each from its first record until its row is emitted."""

from collections.abc import Callable, Mapping, Sequence

from rebalance_audit.audit.group.ends import Away, as_logged
from rebalance_audit.audit.group.progress_tracker import ProgressTracker
from rebalance_audit.audit.members.stint import Identity, MemberEnd, MemberWatch, Stint
from rebalance_audit.audit.members.tally import MemberTallies
from rebalance_audit.audit.ownership.ownership import Owner
from rebalance_audit.audit.rows import MEMBERS, Emit, Row
from rebalance_audit.audit.testimony.witness import Witness
from rebalance_audit.audit.verdicts.cause import Verdict, departure_of
from rebalance_audit.replay.changes import GroupType, Position


class GroupMembers:
    """The members of one life; like the life, only its own methods change it."""

    watches: dict[str, MemberWatch]
    incarnation: int = 0
    protocol: str = ""
    joined_since: int = 0
    """Members that joined since the current epoch began, and likewise those that left."""
    left_since: int = 0

    def __init__(
        self, group_id: str, emit: Emit, witness: Witness | None, progress: ProgressTracker
    ) -> None:
        self._group_id = group_id
        self._emit = emit
        self._witness = witness
        self._progress = progress
        self.on_member: Callable[[Stint], None] | None = None
        self.on_departure: Callable[[Row], None] | None = None
        self.away = Away()
        self.tallies = MemberTallies(lambda: self.watches)
        self.watches = {}

    def restart(
        self, incarnation: int, protocol: GroupType, kept: Mapping[str, MemberWatch]
    ) -> None:
        """A group begins that does not continue the previous one, but for the members that it has `kept`."""
        self.incarnation, self.protocol = incarnation, str(protocol)
        self.watches.update(kept)
        self.tallies.forget()

    def begin_epoch(self) -> None:
        """Count from here who joins and who leaves."""
        self.joined_since = self.left_since = 0

    def open(
        self,
        member_id: str,
        identity: Identity,
        epoch: int | None,
        position: Position,
        *,
        gap: bool,
        is_counted: bool = False,
    ) -> MemberWatch:
        """Start to follow a member id; `is_counted`: the next epoch counts it among those that joined."""
        began_at_ms = position.record_timestamp_ms
        stint = Stint(member_id, identity, self.protocol, epoch, position, began_at_ms, gap)
        watch = MemberWatch(stint, position)
        self.watches[member_id] = watch
        self._progress.arrived(member_id)
        self.tallies.set(member_id, identity)
        self.joined_since += is_counted
        if self.on_member is not None:
            self.on_member(stint)
        return watch

    def close(
        self,
        member_id: str,
        position: Position,
        end: MemberEnd,
        *,
        waits: bool = False,
        is_counted: bool = False,
    ) -> None:
        """Stop following a member id that is gone; if it `waits`, its row comes once the next generation is known.

        `is_counted`: the next epoch counts it among those that left.
        """
        self.left_since += is_counted
        progress = self._progress.of(member_id)
        watch = self.watches.pop(member_id, None)
        if watch is None:
            return
        self._progress.left(watch)
        self.tallies.remove(member_id)
        stint = watch.stint
        cause, certainty = as_logged(self._witness, watch, position, end.cause, end.certainty)
        stint.left_at_ms = position.record_timestamp_ms
        stint.left_how, stint.left_certainty = cause, certainty
        stint.last_epoch = end.last_epoch
        row = stint.row(self._group_id, self.incarnation) | {"closed_weight": end.closed_weight}
        if waits:
            self.away.wait(stint)
        else:
            self._emit(MEMBERS, row)
        if self.on_departure is not None:
            self.on_departure({**row, "last_sign_leader_epoch": watch.last_sign.leader_epoch})
        if progress is not None and progress.outcome is None:
            progress.outcome = "left"

    def emit_away(self, verdicts: Sequence[Verdict]) -> None:
        """Emit the rows of members that left the group empty, as these causes have their ends."""
        for stint in self.away.take_rows():
            verdict = departure_of(verdicts, stint.member_id)
            if verdict is not None:
                stint.left_how, stint.left_certainty = verdict.cause, verdict.certainty
            self._emit_stint(stint)

    def finish(self) -> None:
        """The log ends: emit the rows of all that are left."""
        for watch in self.watches.values():
            self._emit_stint(watch.stint)
        self.watches.clear()
        self.tallies.forget()

    def identify(self, watch: MemberWatch, identity: Identity) -> None:
        """What the member says about itself from now on."""
        watch.stint.identity = identity
        self.tallies.set(watch.stint.member_id, identity)

    def owner(self, member_id: str) -> Owner:
        """The member as an owner of partitions."""
        watch = self.watches.get(member_id)
        return Owner.of(member_id, None if watch is None else watch.stint.identity)

    def _emit_stint(self, stint: Stint) -> None:
        self._emit(MEMBERS, stint.row(self._group_id, self.incarnation))
