"""Which protocols a coordinator serves."""

from collections.abc import Sequence

from rebalance_audit.coordinator.context import CoordinatorContext, ProtocolHandlers


def protocols_of(_context: CoordinatorContext) -> Sequence[ProtocolHandlers]:
    """The handlers of all protocols, with fresh soft state."""
    return ()
