"""The audit is the same whichever way its log is read, and however little of it is kept until it is judged."""

import pytest

from rebalance_audit.local import single_pass_log
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.segments import available, reader
from tests.wire.golden import CAPTURE_NAMES, capture


@pytest.mark.parametrize("name", CAPTURE_NAMES)
@pytest.mark.parametrize("kept_bytes_max", [20_000, 1 << 30])
def test_compiled_and_plain_reading_give_one_audit(
    name: str, kept_bytes_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In windows smaller than a segment; what is not kept is read once more."""
    path = capture(name).segments
    plain = audit_segments(path)
    monkeypatch.setattr(available, "FROM_BYTES", 0)
    monkeypatch.setattr(available, "UNCOMPILED_FROM_BYTES", 0)
    monkeypatch.setattr(reader, "WINDOW_BYTES", 8_000)
    monkeypatch.setattr(single_pass_log, "KEPT_BYTES_MAX", kept_bytes_max)
    compiled = audit_segments(path)
    assert compiled.tables == plain.tables
    assert compiled.facts == plain.facts
