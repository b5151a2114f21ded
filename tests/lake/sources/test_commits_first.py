"""The order in which records of segments are stored."""

import pyarrow as pa
import pytest

from rebalance_audit.lake.records import commit_packs as module
from rebalance_audit.lake.records.commit_packs import commits_first

COMMIT, GROUP, MARKER = b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\3\0\1g", b"\0\0\0\1"


def batch(*rows: tuple[int, bytes | None, bool | None]) -> pa.RecordBatch:
    """Offset, key, and whether it is a control record."""
    offsets, keys, controls = zip(*rows, strict=True)
    arrays = [pa.array(offsets), pa.array(keys, pa.binary()), pa.array(controls, pa.bool_())]
    return pa.RecordBatch.from_arrays(arrays, names=["offset", "key", "is_control"])


BATCHES = [
    batch((0, GROUP, False), (1, COMMIT, False), (2, MARKER, True)),
    batch((3, None, False), (4, COMMIT, None), (5, b"\0", None), (6, COMMIT[:2], False)),
]


def offsets() -> list[int]:
    """In the order in which they are stored."""
    return [at for stored in commits_first(BATCHES) for at in stored["offset"].to_pylist()]


def test_all_but_commits_comes_last() -> None:
    """Transaction markers, whose keys begin as commits do, null and damaged keys are among the others."""
    assert offsets() == [1, 4, 6, 0, 2, 3, 5]


def test_others_do_not_wait_without_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of nothing else is not held in memory."""
    monkeypatch.setattr(module, "HELD_BYTES", 1)
    assert offsets() == [1, 0, 2, 4, 6, 3, 5]
