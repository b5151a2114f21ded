"""Whether the compiled walk is worth its start, and can be had at all."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rebalance_audit.scan.room import Room

FROM_BYTES: Final = 16 << 20
"""Below, starting the compiler's runtime takes longer than today's readers need for the log."""
UNCOMPILED_FROM_BYTES: Final = 256 << 20
"""The same on a machine that has not compiled the walk yet, or cannot keep what it compiles: some ten seconds."""


def room_for(size_bytes: int) -> "Room | None":
    """Room for a walk over so much of a log; None where the readers of `wire.segments` are to do all of it."""
    if size_bytes < FROM_BYTES:
        return None
    try:
        # Loaded on first use: their import takes longer than a short command.
        from rebalance_audit.scan.kernel import is_compiled  # noqa: PLC0415
        from rebalance_audit.scan.room import Room  # noqa: PLC0415
    except ImportError:  # Numba is not installed, or not for this machine
        return None
    return Room() if is_compiled() or size_bytes >= UNCOMPILED_FROM_BYTES else None
