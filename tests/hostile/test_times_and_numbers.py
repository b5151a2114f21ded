"""Times, offsets and epochs at the ends of what 64 bits hold, in groups of both protocols."""

from pathlib import Path

import pytest

from rebalance_audit.wire.generated import messages as m
from tests.hostile.tenant_log import START_MS, TenantLog
from tests.hostile.within_limits import rebalance_audit

LAST = (1 << 63) - 1
HIGHEST_EPOCH = (1 << 31) - 1


@pytest.mark.parametrize("start_ms", [0, -5, -(1 << 62), LAST - 10**9, 253_402_300_800_000])
def test_times_far_away(tmp_path: Path, start_ms: int) -> None:
    """Before 1970, after the year 9999, and in the year 292 million."""
    log = TenantLog(start_ms)
    for number in (1, 2, 3):
        log.generation("g", number, [("t", (0,))], after_ms=10)
    for command in ("inspect", "state", "decode"):
        ended = rebalance_audit(command, log.write(tmp_path))
        assert ended.exit_code == 0, ended.err


@pytest.mark.parametrize("jump_ms", [200 * 365 * 86_400_000, LAST - 2 * START_MS])
def test_a_gap_of_centuries(tmp_path: Path, jump_ms: int) -> None:
    """A rebalance that seems to last for centuries."""
    log = TenantLog()
    for epoch, after_ms in ((1, 0), (2, jump_ms), (HIGHEST_EPOCH, 5)):
        log.add(
            m.ConsumerGroupMemberMetadataKey("g", f"m{epoch}"),
            m.ConsumerGroupMemberMetadataValue(None, None, "c", "/h", ("t",), None, 300_000, None),
            after_ms=after_ms,
        )
        log.add(m.ConsumerGroupMetadataKey("g"), m.ConsumerGroupMetadataValue(epoch))
    ended = rebalance_audit("inspect", log.write(tmp_path), "--json")
    assert ended.exit_code == 0, ended.err


def test_the_last_offsets(tmp_path: Path) -> None:
    """A log that ends where offsets end."""
    log = TenantLog(first_offset=LAST - 10)
    for number in (1, 2):
        log.generation("g", number, [("t", (0,))])
    ended = rebalance_audit("inspect", log.write(tmp_path))
    assert ended.exit_code == 0, ended.err
