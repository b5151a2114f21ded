from pathlib import Path

from rebalance_audit.demo_log import extract_to
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.log_entries import PositionedRecord, log_entries


def test_demo_log(tmp_path: Path) -> None:
    """The bundled log unpacks into a folder that can be read, with all its records and topic names."""
    folder = open_log_folder(extract_to(tmp_path / "new" / "demo"))
    assert list(folder.partitions) == [0, 2, 3, 6, 7]
    entries = list(log_entries(folder))
    assert len(entries) == 1959
    assert all(isinstance(entry, PositionedRecord) for entry in entries)
    assert {topic.name for topic in read_topic_names(folder).values()} >= {
        "orders",
        "payments",
        "events",
    }


def test_unpacking_again(tmp_path: Path) -> None:
    """Unpacking over an earlier copy changes nothing."""
    first = {path: path.read_bytes() for path in sorted(extract_to(tmp_path).rglob("*.log"))}
    again = {path: path.read_bytes() for path in sorted(extract_to(tmp_path).rglob("*.log"))}
    assert first == again
