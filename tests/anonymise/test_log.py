"""Logs of real brokers under pseudonyms: no name is left, and their audit is the same under other names."""

import base64
import shutil
from pathlib import Path

import pytest

from rebalance_audit.anonymise.log import Choices, anonymise_log
from rebalance_audit.errors import BadRequest
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.replay.java_order import partition_for
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, open_log_folder
from rebalance_audit.wire.topic_names import group_hash
from tests.anonymise.renamed import (
    KEY,
    anonymised,
    decoded_records,
    hashes_of_topics,
    names_in,
    plain_bytes,
    rows,
    rows_under_old_names,
)
from tests.support.batches import Batch, BatchHeader, read_batches

GOLDEN = Path(__file__).parents[1] / "golden"
LOGS = {
    path.parent.name: path
    for path in sorted((*GOLDEN.glob("captures/*/segments"), *GOLDEN.glob("reported/*/segments")))
}
SHAPED = LOGS["consumer-protocol"]
"""Its groups recorded hashes of their topics."""


@pytest.mark.parametrize("log", LOGS)
def test_the_audit_is_the_same_under_other_names(log: str, tmp_path: Path) -> None:
    """Row by row; ties between names, and ids made of names, aside."""
    out = tmp_path / "out"
    found = anonymised(LOGS[log], out)
    assert rows_under_old_names(found, out) == rows(LOGS[log])


@pytest.mark.parametrize("log", LOGS)
def test_no_name_is_left(log: str, tmp_path: Path) -> None:
    """In no file, neither plain nor compressed nor in base64 nor as UTF-16."""
    anonymised(LOGS[log], tmp_path / "out")
    names = names_in(LOGS[log])
    coded = {
        form
        for name in names
        for form in (
            name.encode(),
            name.encode("utf-16-le"),
            name.encode("utf-16-be"),
            base64.b64encode(name.encode()).rstrip(b"=")[:-1],
        )
    }
    assert names
    for file, data in plain_bytes(tmp_path / "out"):
        assert not [form for form in coded if form in data], file


def test_topics_cannot_be_found_by_their_hash(tmp_path: Path) -> None:
    """No hash is that of topics with their own names; with pseudonyms it is what the metadata log makes of them."""
    out = tmp_path / "out"
    anonymised(SHAPED, out)
    before, after = hashes_of_topics(SHAPED), hashes_of_topics(out)
    assert len(before) == len(after) > 3
    assert not before & after
    hashes = [
        {name.name: shape.topic_hash}
        for name in read_topic_names(open_log_folder(out)).values()
        for shape in name.shapes
    ]
    assert after & set(map(group_hash, hashes))


def test_a_hash_without_a_metadata_log_is_replaced(tmp_path: Path) -> None:
    """Equal ones by equal ones."""
    log = tmp_path / "log"
    log.mkdir()
    for folder in SHAPED.glob(f"{OFFSETS_TOPIC}-*"):
        (log / folder.name).symlink_to(folder)
    anonymised(log, tmp_path / "out")
    before, after = hashes_of_topics(SHAPED), hashes_of_topics(tmp_path / "out")
    assert len(before) == len(after)
    assert not before & after


def test_pseudonyms_are_those_of_the_key(tmp_path: Path) -> None:
    """The same key gives the same bytes, another key other names."""
    for name, key in (("one", KEY), ("again", KEY), ("other", b"another key of 16")):
        anonymise_log(SHAPED, tmp_path / name, key)
    one, again, other = (
        [data for _, data in plain_bytes(tmp_path / name)] for name in ("one", "again", "other")
    )
    assert one == again
    ours, theirs = (audit_segments(tmp_path / name).group_ids for name in ("one", "other"))
    assert len(ours) == len(theirs) > 1
    assert not ours & theirs
    assert one != other


@pytest.mark.parametrize("capture", sorted(path.name for path in GOLDEN.glob("captures/*")))
def test_groups_are_where_brokers_look_for_them(capture: str, tmp_path: Path) -> None:
    """In the partition that their id hashes to, as the metadata log says how many there are."""
    found = anonymised(LOGS[capture], tmp_path / "out")
    for log in (LOGS[capture], tmp_path / "out"):
        of_group = {(record.key[0], number) for number, record in decoded_records(log)}
        assert of_group
        for group_id, number in of_group:
            assert number == partition_for(group_id, found.offsets_partitions), group_id


@pytest.mark.parametrize("log", ["oddities", "offsets", "compacted", "failover"])
def test_batches_keep_what_is_no_name(log: str, tmp_path: Path) -> None:
    """Offsets, gaps, times, producers, epochs of leaders, compression, markers of transactions."""
    anonymised(LOGS[log], tmp_path / "out")
    for file in LOGS[log].glob("__consumer_offsets-*/*.log"):
        new = tmp_path / "out" / file.parent.name / file.name
        for old_batch, new_batch in zip(read_batches(file), read_batches(new), strict=True):
            assert isinstance(old_batch, Batch)
            assert isinstance(new_batch, Batch)
            kept = old_batch.header._replace(byte_position=0, size_bytes=0)
            assert new_batch.header._replace(byte_position=0, size_bytes=0) == kept
            if not kept.is_control:
                old, new_records = old_batch.records(), new_batch.records()
                assert isinstance(old, list)
                assert isinstance(new_records, list)
                assert [each[:2] for each in new_records] == [each[:2] for each in old]


def test_shifted_times_keep_their_distances(tmp_path: Path) -> None:
    """All times move by the same number of hours, which depends on the key."""
    found = anonymised(SHAPED, tmp_path / "out", shifts_times=True)
    assert found.times_shifted
    old, new = audit_segments(SHAPED), audit_segments(tmp_path / "out")
    shifts = {
        after["started_at"] - before["started_at"]
        for before, after in zip(
            sorted(old.tables["epochs"], key=lambda row: row["started_at"]),
            sorted(new.tables["epochs"], key=lambda row: row["started_at"]),
            strict=True,
        )
    }
    (shift,) = shifts
    assert shift < 0
    assert shift % 3_600_000 == 0
    assert len(old.tables["group_hours"]) == len(new.tables["group_hours"])
    anonymise_log(
        SHAPED, tmp_path / "other", b"another key of 16", choices=Choices(shifts_times=True)
    )
    other = audit_segments(tmp_path / "other")
    assert other.log_end_ms() not in {old.log_end_ms(), new.log_end_ms()}


@pytest.mark.parametrize("log", ["compacted", "share-streams", "upgrade"])
def test_no_time_of_the_original_is_left(log: str, tmp_path: Path) -> None:
    """Neither in headers of batches nor in their records."""
    anonymised(LOGS[log], tmp_path / "out", shifts_times=True)
    marks = [field for field in BatchHeader._fields if field.endswith("_ms")]
    last_ms = min(times_in(LOGS[log], marks)) - 1
    assert max(times_in(tmp_path / "out", marks)) <= last_ms
    for _, record in decoded_records(tmp_path / "out"):
        for value in (record.value or ())[1:]:
            assert not isinstance(value, int) or not last_ms < value < 2 * last_ms


def times_in(log: Path, marks: list[str]) -> list[int]:
    """The times in the headers of all batches."""
    batches = [each for file in log.glob("__*/*.log") for each in read_batches(file)]
    times = [
        getattr(each.header, mark) for each in batches if isinstance(each, Batch) for mark in marks
    ]
    return [at_ms for at_ms in times if at_ms is not None and at_ms > 0]


def test_damage_is_left_out(tmp_path: Path) -> None:
    """Bytes of a batch whose checksum is wrong may hold names; all others are renamed."""
    log, out = tmp_path / "log", tmp_path / "out"
    shutil.copytree(SHAPED, log)
    file = max(log.glob("__consumer_offsets-*/*.log"), key=lambda path: path.stat().st_size)
    whole = list(read_batches(file))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))
    found = anonymised(log, out)
    assert [what for what in found.left_out if what.startswith("bytes of damage")]
    left = list(read_batches(out / file.parent.name / file.name))
    assert len(left) == len(whole) - 1
    names = names_in(SHAPED)
    for new, written in plain_bytes(out):
        assert not [name for name in names if name.encode() in written], new


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    """It may hold an earlier log."""
    with pytest.raises(BadRequest, match="exists: name a new folder"):
        anonymised(SHAPED, tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    with pytest.raises(BadRequest, match="exists: name a new folder"):
        anonymised(SHAPED, tmp_path / "link")


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    """A folder that is not complete is removed."""
    with pytest.raises(ZeroDivisionError):
        anonymised(SHAPED, tmp_path / "out", on_progress=lambda _step: 1 // 0)
    assert not list(tmp_path.iterdir())
