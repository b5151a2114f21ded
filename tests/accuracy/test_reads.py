"""Bounds of what a rebalance cost hold what real clients wrote down that they read."""

from pathlib import Path
from statistics import median
from typing import Final

import pytest

from tests.support.archives import unpack
from workshop.accuracy.reads import costs_of_capture

CAPTURES: Final = Path(__file__).resolve().parents[1] / "golden" / "reads"


@pytest.mark.parametrize("client", ["aiokafka", "java", "librdkafka"])
def test_bounds_hold_what_clients_read(client: str, tmp_path: Path) -> None:
    """Rolling restarts, crashes, partitions given up without a commit, seeks, expired offsets, and retention."""
    unpack(CAPTURES / f"{client}.tar.xz", tmp_path)
    found = costs_of_capture(tmp_path / client)
    assert not found.outside
    assert found.compared > 10 * len(found.left_out)
    for what, true in found.true.items():
        assert sum(map(bool, true)) > 2, f"hardly any records {what}"
    assert all(width is not None for width in found.widths["delayed"])
    assert median(found.relative_widths) < 0.3
