"""Whether the compiled walk is worth its start, and can be had at all."""

from typing import Final

FROM_BYTES: Final = 16 << 20
"""Below, starting the compiler's runtime takes longer than today's readers need for the log."""
UNCOMPILED_FROM_BYTES: Final = 256 << 20
"""The same on a machine that has not compiled the walk yet, or cannot keep what it compiles: some ten seconds."""


def should_use_compiled_scan(function: str, size_bytes: int) -> bool:
    """Whether this process should read so much of a log with a function of `kernel`, not with `wire.segments` alone."""
    if size_bytes < FROM_BYTES:
        return False
    try:
        # Loaded on first use: its import takes longer than a short command.
        from rebalance_audit.scan.kernel import is_compiled  # noqa: PLC0415
    except ImportError:  # Numba is not installed, or not for this machine
        return False
    return size_bytes >= UNCOMPILED_FROM_BYTES or is_compiled(function)
