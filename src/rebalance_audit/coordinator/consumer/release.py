"""How each release's coordinator differs in handling consumer groups, as data (from Kafka's release branches)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.coordinator.handling import Dialect


class Release(NamedTuple):
    """The rules of one release; a field's sentence says what True means."""

    first_epoch: int = 0
    """Group and assignment epoch of a group that has no record of them."""
    early_access: bool = False
    """Members are reconciled by target member epochs, client-side assignors are known, and the layouts hold both."""
    answers_owned: bool = False
    """Any heartbeat that reports owned partitions is answered with the assignment."""
    copies_replaced_member: bool = True
    """A returning static member first gets the records of the one it replaces under its own id."""
    online_migration: bool = True
    """Classic groups become consumer groups and back while they run."""
    topic_metadata_record: bool = False
    """The subscribed topics are kept as a record [4], not as a hash in [3]."""
    regexes: bool = True
    """Members may subscribe by regular expression."""
    empty_subscriptions: bool = True
    """A member may join without any topic."""
    new_group_bumps: bool = False
    """The first heartbeat bumps a new group even when its topics are not known yet."""
    cleared_regex_bumps: bool = True
    """Ending a subscription by expression bumps the group epoch."""
    regex_refresh_by_time: bool = True
    """Expressions are resolved again after the refresh interval, not only for new topics."""
    forces_subscription: bool = True
    """A member that changes its subscription gives up the topics it dropped in the same write."""
    zero_epoch_rejoins: bool = True
    """A known member may come with epoch 0 at any time."""
    steps_while_revoking: bool = False
    """A member that gave up all it had to, and must give up more, moves on by one epoch (CurrentAssignmentBuilder)."""
    own_pending_is_free: bool = True
    """A member need not wait for a partition that it gives up itself."""
    assignment_epochs: bool = True
    """Records and offset commits know the epoch at which each partition was assigned."""
    assignment_interval: bool = True
    """Target assignments are computed at an interval, and carry their time."""
    static_passes_full_group: bool = True
    """A known instance id is let into a group of maximum size."""
    assignor_change_bumps: bool = False
    """A change of the preferred assignor bumps the group epoch; else it waits for the next bump."""
    emptied_group_has_target: bool = False
    """The last member's departure also moves the assignment epoch."""


_R4_4: Final = Release(first_epoch=1, assignor_change_bumps=True, emptied_group_has_target=True)
_R4_3: Final = _R4_4._replace(assignor_change_bumps=False, emptied_group_has_target=False)
_R4_1: Final = _R4_3._replace(
    first_epoch=0,
    new_group_bumps=True,
    forces_subscription=False,
    zero_epoch_rejoins=False,
    steps_while_revoking=True,
    assignment_epochs=False,
    assignment_interval=False,
    static_passes_full_group=False,
)
_R4_0: Final = _R4_1._replace(
    topic_metadata_record=True,
    cleared_regex_bumps=False,
    regex_refresh_by_time=False,
    own_pending_is_free=False,
)
_R3_9: Final = _R4_0._replace(new_group_bumps=False, regexes=False, empty_subscriptions=False)
_R3_7: Final = _R3_9._replace(
    early_access=True, answers_owned=True, copies_replaced_member=False, online_migration=False
)

RELEASES: Final[Mapping[Dialect, Release]] = {
    Dialect.R3_7: _R3_7,
    Dialect.R3_9: _R3_9,
    Dialect.R4_0: _R4_0,
    Dialect.R4_1: _R4_1,
    Dialect.R4_3: _R4_3,
    Dialect.R4_4: _R4_4,
}
"""Newest first: each line lists what the release before did not have yet."""
