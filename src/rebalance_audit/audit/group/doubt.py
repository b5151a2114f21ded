"""Whether a group may be another than the records in hand make it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.causes.contradictions import Believed, contradictions
from rebalance_audit.audit.causes.modern_evidence import WriteEvidence
from rebalance_audit.audit.writes import Step
from rebalance_audit.replay.changes import GroupEpochBumped
from rebalance_audit.replay.modern.group import ModernGroup


@dataclass(slots=True)
class Doubt:
    """Begins where records are missing, and ends when what is believed has been told again.

    What compaction leaves at the start of a log is the group as it stood at the last record that the cleaner looked at,
    and no epoch behind that is missing: two epochs in a row end a doubt of before the first one. Behind a hole in the
    middle everything may be missing: each member has to tell again what it subscribes to.
    """

    since_epoch: int | None = None
    """Group epoch in which records are missing; None while nothing is in doubt."""
    at_start: bool = False
    """No epoch had been seen before."""
    unconfirmed: set[str] = field(default_factory=set)
    """Members that have not told since then what they subscribe to."""

    @property
    def is_open(self) -> bool:
        """Whether anything may be missing from what is believed."""
        return self.since_epoch is not None

    def look_at(
        self,
        write: Sequence[Step],
        evidence: WriteEvidence,
        group: ModernGroup,
        believed: Believed,
        *,
        at_start: bool,
        lost: bool,
    ) -> None:
        """Begin to doubt where the write cannot follow what is believed.

        `at_start`: the log has shown no epoch yet. `lost`: a record of the group before this write cannot be read.
        """
        bump = evidence.bump
        if bump is not None:
            self._pass_start(bump)
        skips = bump is not None and bump.old_epoch not in (None, bump.new_epoch - 1)
        if lost or skips or any(contradictions(write, evidence, group, believed)):
            self.at_start = at_start and not lost
            self.since_epoch = group.group_epoch
            self.unconfirmed.update(group.members)

    def end(self) -> None:
        """The group is known from one end to the other."""
        self.since_epoch = None
        self.at_start = False
        self.unconfirmed.clear()

    def confirm(self, member_id: str) -> None:
        """The member told what it subscribes to, or is gone."""
        self.unconfirmed.discard(member_id)

    def _pass_start(self, bump: GroupEpochBumped) -> None:
        """Two epochs in a row are there: the cleaner has not been behind the first of them."""
        if self.at_start and bump.old_epoch is not None and bump.new_epoch == bump.old_epoch + 1:
            self.end()

    def settle(self, group: ModernGroup, bump: GroupEpochBumped | None) -> None:
        """Look at the group behind a write: whether nobody is left to doubt."""
        if self.since_epoch is None:
            return
        if not group.members:
            if bump is not None and not bump.new_metadata_hash:
                self.end()
        elif not (
            self.unconfirmed or group.unconverged or group.assignment_epoch <= self.since_epoch
        ):
            self.end()
