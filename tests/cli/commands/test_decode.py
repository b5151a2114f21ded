import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.local import byte_ranges as ranges
from tests.cli.call import CAPTURES, call, lines, segments

ALL = sorted(path.name for path in CAPTURES.iterdir())
DUMP_LINE = re.compile(r"\| offset: (\d+) \w+: (-?\d+) .*? key: (\{.*\}) payload: (.*)$")
MARKER_LINE = re.compile(r"\| offset: (\d+) .*? endTxnMarker: (\w+) coordinatorEpoch: (-?\d+)$")


def dump(capture: str) -> Iterator[tuple[int, str]]:
    """(log partition, line) of what Kafka's own tool printed."""
    for path in sorted((CAPTURES / capture / "dump").glob("__consumer_offsets-*.txt.gz")):
        partition = int(path.name.removesuffix(".txt.gz").rpartition("-")[2])
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as text:
            for line in text:
                yield partition, line.rstrip("\n")


@pytest.mark.parametrize("capture", ALL)
def test_every_record_is_as_kafkas_own_tool_prints_it(capture: str) -> None:
    """Types, versions, timestamps and data of each record equal kafka-dump-log --offsets-decoder."""
    ours = {
        (line["partition"], line["offset"]): line for line in lines("decode", segments(capture))
    }
    compared = 0
    for partition, line in dump(capture):
        if not (match := DUMP_LINE.match(line)):
            continue
        key, payload = json.loads(match[3]), match[4]
        value = None if payload == "<DELETE>" else json.loads(payload)
        got = ours[partition, int(match[1])]
        assert got["timestamp"] == int(match[2])
        assert got["key"] == {"type": int(key["type"]), "data": key["data"]}
        assert got["value"] == (value and {"version": int(value["version"]), "data": value["data"]})
        compared += 1
    assert compared > 50
    assert not [line for line in ours.values() if "error" in line]


def test_early_access_layouts_of_3_7_are_as_that_releases_classes_read_them() -> None:
    """Types 3 to 8 of release 3.7, which later tools of Kafka cannot read, equal what its own classes say."""
    ours = {
        (line["partition"], line["offset"]): line
        for line in lines("decode", segments("broker-3.7"))
    }
    compared = 0
    for path in (CAPTURES / "broker-3.7" / "dump").glob("*-types-3-8.jsonl.gz"):
        partition = int(path.name.removeprefix("__consumer_offsets-")[0])
        for line in gzip.decompress(path.read_bytes()).splitlines():
            want = json.loads(line)
            got = ours[partition, want["offset"]]
            assert (got["key"], got["value"]) == (want["key"], want["value"])
            compared += 1
    assert compared == 53


def test_transaction_markers_say_how_which_producers_transaction_ended() -> None:
    """A control record has the marker instead of key and value."""
    ours = {
        line["offset"]: line["control"]
        for line in lines("decode", segments("offsets"), "--type", "control")
    }
    theirs = {
        int(match[1]): (match[2], int(match[3]))
        for _, line in dump("offsets")
        if (match := MARKER_LINE.match(line))
    }
    assert {offset: (it["type"], it["coordinatorEpoch"]) for offset, it in ours.items()} == theirs
    assert len(ours) == 11
    assert all(it["producerId"] >= 0 and it["producerEpoch"] >= 0 for it in ours.values())


def test_lines_come_by_partition_and_offset() -> None:
    """The order is that of the log, whatever the order of the files on disk."""
    places = [
        (line["partition"], line["offset"])
        for line in lines("decode", segments("consumer-protocol"))
    ]
    assert places == sorted(places)
    assert len({partition for partition, _ in places}) == 4


def test_many_workers_print_what_one_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Splitting the files into ranges for several processes changes neither records nor order."""
    alone = call("decode", segments("classic-cooperative"))
    monkeypatch.setattr(ranges, "PARALLEL_FROM_BYTES", 0)
    monkeypatch.setattr(ranges, "RANGE_BYTES", 1000)
    assert call("decode", segments("classic-cooperative")) == alone


@pytest.mark.parametrize(
    ("flags", "wanted", "at_least"),
    [
        (["--type", "2"], lambda it: type_of(it) == 2, 15),
        (["--type", "GroupMetadata"], lambda it: type_of(it) == 2, 15),
        (["--type", "group_metadata", "--type", "3"], lambda it: type_of(it) in (2, 3), 18),
        (["--type", "control", "--type", "8"], lambda it: type_of(it) in (None, 8), 20),
        (["--group", "manual"], lambda it: group_of(it) == "manual", 5),
        (
            ["--group", "manual", "--group", "shop", "--type", "OffsetCommit"],
            lambda it: group_of(it) in ("manual", "shop") and type_of(it) == 1,
            5,
        ),
        (["--partition", "2"], lambda it: it["partition"] == 2, 100),
        (["--to", "2026-11-21T00:00Z"], lambda _: False, 0),
        (["--from", "2026-11-21"], lambda _: True, 412),
    ],
)
def test_filters_leave_the_wanted_records(
    flags: list[str], wanted: Callable[[dict[str, Any]], bool], at_least: int
) -> None:
    """By type (number or name), group, partition and time; several of one kind select any of them."""
    found = lines("decode", segments("offsets"), *flags)
    assert found == [line for line in lines("decode", segments("offsets")) if wanted(line)]
    assert len(found) >= at_least


def type_of(line: dict[str, Any]) -> int | None:
    """None for a transaction marker."""
    return line["key"]["type"] if "key" in line else None


def group_of(line: dict[str, Any]) -> str | None:
    """None for a transaction marker."""
    data = line["key"]["data"] if "key" in line else {}
    return data.get("group", data.get("groupId"))


def test_from_takes_a_moment_and_to_leaves_it_out() -> None:
    """A range from A to B and one from B to C hold every record from A to C once."""
    everything = lines("decode", segments("offsets"))
    middle = everything[len(everything) // 2]["timestamp"]
    before = lines("decode", segments("offsets"), "--to", str(middle))
    after = lines("decode", segments("offsets"), "--from", str(middle))
    assert {line["timestamp"] < middle for line in before} == {True}
    assert {line["timestamp"] >= middle for line in after} == {True}
    assert len(before) + len(after) == len(everything)


def copy_with(tmp_path: Path, change: Any) -> Path:
    """The smallest capture with its first segment's bytes changed."""
    source = next(segments("broker-3.3").glob("__consumer_offsets-*/*.log"))
    target = tmp_path / source.parent.name / source.name
    target.parent.mkdir()
    data = bytearray(source.read_bytes())
    change(data)
    target.write_bytes(data)
    return tmp_path


def test_a_damaged_batch_is_a_line_with_file_position_and_bytes(tmp_path: Path) -> None:
    """Nothing in the log is lost silently: the damaged bytes are printed raw, and reading continues after them."""

    def flip(data: bytearray) -> None:
        data[70] ^= 0xFF

    folder = copy_with(tmp_path, flip)
    damaged = lines("decode", folder)
    (bad,) = [line for line in damaged if "error" in line]
    assert bad["error"].startswith("crc_mismatch: ")
    assert bad["file"].endswith("00000000000000000000.log")
    assert (bad["offset"], bad["position"]) == (0, 0)
    assert len(base64.b64decode(bad["raw"])) == bad["size"]
    assert len(damaged) > 5


def test_an_unfinished_end_is_no_record(tmp_path: Path) -> None:
    """A running broker's last batch may be half written; decode prints the complete ones."""
    whole = lines("decode", copy_with(tmp_path, lambda _: None))
    other = tmp_path / "cut"
    other.mkdir()
    cut = lines("decode", copy_with(other, lambda data: data.__delitem__(slice(-7, None))))
    assert cut == whole[: len(cut)]
    assert 0 < len(cut) < len(whole)
