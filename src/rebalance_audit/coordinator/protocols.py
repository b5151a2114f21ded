"""Which protocols a coordinator serves."""

from collections.abc import Sequence

from rebalance_audit.coordinator.classic.handlers import ClassicHandlers
from rebalance_audit.coordinator.context import CoordinatorContext, ProtocolHandlers


def protocols_of(context: CoordinatorContext) -> Sequence[ProtocolHandlers]:
    """The handlers of all protocols, with fresh soft state."""
    classic = ClassicHandlers(context)
    return (classic,)
