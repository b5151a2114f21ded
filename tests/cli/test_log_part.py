from pathlib import Path

from rebalance_audit.cli.log_part import leave_part
from rebalance_audit.demo_log import extract_to
from rebalance_audit.wire.segments.folder import PositionedRecord, open_log_folder


def test_a_part_of_a_log(tmp_path: Path) -> None:
    """Whole batches, as if the brokers had not written the rest yet."""
    whole, part = (extract_to(tmp_path / name) for name in ("whole", "part"))
    leave_part(part, 0.5)
    all_of_it, left = ([*open_log_folder(folder).read()] for folder in (whole, part))
    assert all(isinstance(entry, PositionedRecord) for entry in left)
    assert len(all_of_it) / 3 < len(left) < len(all_of_it)
    assert all(entry in all_of_it for entry in left)
