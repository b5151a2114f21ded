"""Which protocols a coordinator serves."""

from collections.abc import Sequence

from rebalance_audit.coordinator.classic.handlers import ClassicHandlers
from rebalance_audit.coordinator.consumer.handlers import ConsumerHandlers
from rebalance_audit.coordinator.consumer.offset_checks import EpochChecks
from rebalance_audit.coordinator.context import CoordinatorContext, ProtocolHandlers
from rebalance_audit.coordinator.group_admin import GroupAdmin
from rebalance_audit.coordinator.offset_commits import OffsetCommits
from rebalance_audit.coordinator.offset_reads import OffsetReads
from rebalance_audit.coordinator.offset_removal import OffsetRemoval
from rebalance_audit.coordinator.share.handlers import ShareHandlers
from rebalance_audit.coordinator.streams.handlers import StreamsHandlers


def protocols_of(context: CoordinatorContext) -> Sequence[ProtocolHandlers]:
    """The handlers of all protocols, with fresh soft state."""
    classic = ClassicHandlers(context)
    epoch_checks = EpochChecks(context)
    return (
        classic,
        ConsumerHandlers(context, classic),
        ShareHandlers(context),
        StreamsHandlers(context),
        OffsetCommits(context, classic, epoch_checks),
        OffsetReads(context, epoch_checks),
        OffsetRemoval(context, classic),
        GroupAdmin(context, classic),
    )
