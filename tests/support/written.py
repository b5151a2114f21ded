"""What a coordinator wrote, as a line of record types."""

from collections.abc import Callable

from tests.support.coordinator_driver import CoordinatorDriver


def record_types(driver: CoordinatorDriver, act: Callable[[], object] | None = None) -> str:
    """Types of the records that `act` writes, or of all so far; `t` marks tombstones."""
    before = 0
    if act is not None:
        before = len(driver.log)
        act()
    return " ".join(
        f"{record.record_type.value}{'t' if record.value is None else ''}"
        for record in driver.records_since(before)
    )
