"""Files of brokers' logs: layouts, time zones, compression, rotation, and irrelevant lines."""

import bz2
import gzip
import json
import lzma
import os
import tarfile
import zipfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.broker_log.read import LogReader, files_of
from rebalance_audit.carriers.archives import BrokerLogNotReadable
from rebalance_audit.time_zones import zone_of
from tests.support.examples import examples

AT_MS = 1_714_564_800_123
"""2024-05-01 12:00:00.123 UTC."""
NEW = "[GroupCoordinator id=1 topic=__consumer_offsets partition=2] "
OLD = "[GroupCoordinator 1]: "
EMPTY = "Group g with generation 5 is now empty."
LOGGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"

LAYOUTS = {
    "Kafka's own": f"[2024-05-01 12:00:00,123] INFO {NEW}{EMPTY} ({LOGGER})",
    "old coordinator": f"[2024-05-01 12:00:00,123] INFO {OLD}{EMPTY} (kafka.coordinator.group.GroupCoordinator)",
    "line number": f"[2024-05-01 12:00:00,123] INFO {NEW}{EMPTY} ({LOGGER}:512)",
    "thread behind": f"2024-05-01 12:00:00,123 INFO {NEW}{EMPTY} ({LOGGER}) [group-metadata-manager-0]",
    "thread in front": f"2024-05-01 12:00:00,123 [event-processor-3] INFO  {LOGGER} - {NEW}{EMPTY}",
    "ISO 8601": f"2024-05-01T12:00:00.123 INFO {NEW}{EMPTY} (GroupMetadataManager)",
    "UTC": f"[2024-05-01T12:00:00.123Z] INFO {NEW}{EMPTY} ({LOGGER})",
    "other zone": f"[2024-05-01T14:00:00,123+0200] INFO {NEW}{EMPTY} ({LOGGER})",
    "epoch milliseconds": f"1714564800123 INFO {NEW}{EMPTY} (GroupMetadataManager)",
    "container runtime": (
        f"2024-05-01T12:00:07.000000001Z stdout F [2024-05-01 12:00:00,123] INFO {NEW}{EMPTY} ({LOGGER})"
    ),
    "journal": f"May 01 12:00:07 host kafka[7]: [2024-05-01 12:00:00,123] INFO {NEW}{EMPTY} ({LOGGER})",
    "log4j2 JSON": (
        '{"instant":{"epochSecond":1714564800,"nanoOfSecond":123000000},"thread":"t","level":"INFO",'
        f'"loggerName":"{LOGGER}","message":"{NEW}{EMPTY}"}}'
    ),
    "ECS JSON": (
        f'{{"@timestamp":"2024-05-01T12:00:00.123Z","log.level":"INFO","message":"{NEW}{EMPTY}"}}'
    ),
    "JSON milliseconds": f'{{"timeMillis":1714564800123,"level":"INFO","message":"{NEW}{EMPTY}"}}',
    "Docker JSON": (
        f'{{"log":"[2024-05-01 12:00:00,123] INFO {NEW}{EMPTY} ({LOGGER})\\n","stream":"stdout",'
        '"time":"2024-05-01T12:00:07Z"}'
    ),
}


def facts(*paths: Path, zone: str = "UTC") -> list[BrokerFact]:
    """All facts in the files."""
    return list(LogReader(zone_of(zone)).facts(paths))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, tmp_path: Path) -> None:
    """Time, broker and message are read from every usual layout, whatever prefix a log shipper adds."""
    (tmp_path / "server.log").write_text(LAYOUTS[layout] + "\n", encoding="utf-8")
    (fact,) = facts(tmp_path / "server.log")
    assert (fact.at_ms, fact.broker, fact.group_id, fact.epoch) == (AT_MS, "1", "g", 5)
    assert fact.place == "server.log:1"


@settings(max_examples=examples(50))
@given(
    st.integers(1_420_070_400_000, 2_114_380_800_000),
    st.integers(-14 * 4, 14 * 4),
    st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable()),
)
def test_any_time_in_any_zone(at_ms: int, quarters: int, group: str) -> None:
    """A line without a zone has the given zone; a group id may hold any printable characters."""
    zone = timezone(timedelta(minutes=15 * quarters))
    wall = datetime.fromtimestamp(at_ms // 1000, zone).strftime("%Y-%m-%d %H:%M:%S")
    stamp = f"{wall},{at_ms % 1000:03d}"
    text = f"[{stamp}] INFO {NEW}Group {group} with generation 5 is now empty. ({LOGGER})"
    with TemporaryDirectory() as name:
        (Path(name) / "server.log").write_text(text, encoding="utf-8")
        (fact,) = LogReader(zone).facts([Path(name)])
    assert (fact.at_ms, fact.group_id) == (at_ms, group)


@pytest.mark.parametrize(
    ("zone", "hours"), [("UTC", 0), ("+02:00", -2), ("UTC-3", None), ("Europe/Berlin", -2)]
)
def test_zones_by_name(zone: str, hours: int | None, tmp_path: Path) -> None:
    """Names and offsets are zones; what is neither is refused with the reason."""
    (tmp_path / "server.log").write_text(LAYOUTS["Kafka's own"], encoding="utf-8")
    if hours is None:
        with pytest.raises(ValueError, match="is not a time zone: give a name such as"):
            facts(tmp_path / "server.log", zone=zone)
        return
    (fact,) = facts(tmp_path / "server.log", zone=zone)
    assert fact.at_ms == AT_MS + hours * 3_600_000


def test_the_hour_that_comes_twice(tmp_path: Path) -> None:
    """In autumn the clock goes back: the second 02:30 of a file is an hour after the first."""
    lines = [
        f"[2024-10-27 {at},000] INFO {NEW}{EMPTY} ({LOGGER})"
        for at in ("01:59:00", "02:30:00", "02:59:59", "02:00:00", "02:30:00", "03:10:00")
    ]
    (tmp_path / "server.log").write_text("\n".join(lines), encoding="utf-8")
    found = [fact.at_ms for fact in facts(tmp_path / "server.log", zone="Europe/Berlin")]
    minutes = [(at_ms - found[0]) / 60_000 for at_ms in found]
    assert minutes == pytest.approx([0, 31, 61, 61, 91, 131], abs=0.1)


def test_plain_packed_and_rotated_files(tmp_path: Path) -> None:
    """Every file in a folder is read, hidden ones aside; gzip is known by its bytes, not by its name.

    A line has the same place before and after its file is rotated or packed.
    """
    line = LAYOUTS["Kafka's own"] + "\n"
    (tmp_path / "server.log").write_text(line, encoding="utf-8")
    (tmp_path / "server.log.2024-05-01-11").write_bytes(gzip.compress(line.encode()))
    (tmp_path / "broker-2").mkdir()
    (tmp_path / "broker-2" / "server.log.1.gz").write_bytes(gzip.compress(line.encode()))
    (tmp_path / ".server.log.swp").write_text(line, encoding="utf-8")
    assert len(facts(tmp_path)) == 3
    assert len(facts(tmp_path, tmp_path / "server.log")) == 3
    assert {fact.place for fact in facts(tmp_path)} == {"server.log:1"}


def test_messages_over_several_lines(tmp_path: Path) -> None:
    """A group id with a line break in it goes on in the next line; a stack trace belongs to no message."""
    text = (
        f"[2024-05-01 12:00:00,123] INFO {NEW}Group a\nb with generation 5 is now empty. ({LOGGER})\n"
        f"[2024-05-01 12:00:01,123] WARN {NEW}Group c with generation 6 is now empty. ({LOGGER})\n"
        "java.lang.IllegalStateException: no\n\tat kafka.Kafka.main(Kafka.java:1)\n"
        "[2024-05-01 12:00:02,123] INFO [Log partition=a-0] Rolled (kafka.log.Log)\n"
    )
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    found = facts(tmp_path / "server.log")
    assert [(fact.group_id, fact.place) for fact in found] == [
        ("a\nb", "server.log:1"),
        ("c", "server.log:3"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "",
        f"INFO {NEW}{EMPTY}",
        f"[2024-13-01 12:00:00,123] INFO {NEW}{EMPTY} ({LOGGER})",
        "{broken [GroupCoordinator 1]: ",
        '["[GroupCoordinator 1]: Group g with generation 5 is now empty."]',
        f"[12:00:00,123] INFO {NEW}{EMPTY} ({LOGGER})",
        f"[2024-05-01 12:00:00,123] INFO {EMPTY} (kafka.log.Log)",
    ],
)
def test_lines_that_are_none_of_ours(line: str, tmp_path: Path) -> None:
    """Lines without a time, a mark or a known message are skipped, and the lines after them are read."""
    text = f"{line}\n{LAYOUTS['UTC']}\n"
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    assert [fact.at_ms for fact in facts(tmp_path / "server.log")] == [AT_MS]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """The error names the file."""
    packed = gzip.compress(LAYOUTS["UTC"].encode() * 100)
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(BrokerLogNotReadable, match=r"cut\.gz: cannot be read"):
        facts(tmp_path / "cut.gz")
    with pytest.raises(BrokerLogNotReadable, match=r"gone\.log: no such file"):
        files_of([tmp_path / "gone.log"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(BrokerLogNotReadable, match="no file is in this folder"):
        files_of([tmp_path / "empty"])
    os.mkfifo(tmp_path / "pipe.log")
    with pytest.raises(BrokerLogNotReadable, match=r"pipe\.log: not a regular file"):
        facts(tmp_path / "pipe.log")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """A client id of other bytes spoils neither its line nor the file."""
    line = f"[2024-05-01 12:00:00,123] INFO {NEW}Member \xff-1 in group g has failed, removing it from the group. (x.Y)"
    (tmp_path / "server.log").write_bytes(line.encode("latin-1"))
    (fact,) = facts(tmp_path / "server.log")
    assert (fact.group_id, fact.member_id) == ("g", "\ufffd-1")
    assert fact.at_ms == datetime(2024, 5, 1, 12, 0, 0, 123_000, UTC).timestamp() * 1000


def test_a_line_written_into_a_reason_is_no_line(tmp_path: Path) -> None:
    """A client may put a coordinator's line into its reason, in plain text or where JSON carries it."""
    forged = f"x [2024-05-01 12:00:00,123] INFO {NEW}Member v in group victim has failed, removing it from the group"
    text = f"{NEW}[Group g] Member a has left group through explicit `LeaveGroup` request; client reason: {forged}"
    lines = [
        f"[2024-05-01 12:00:00,123] INFO {text} ({LOGGER})",
        json.dumps({"t": AT_MS, "m": text}),
    ]
    (tmp_path / "server.log").write_text("\n".join(lines), encoding="utf-8")
    assert {(fact.group_id, fact.member_id) for fact in facts(tmp_path)} == {("g", "a")}


@pytest.mark.parametrize(
    "message",
    [
        # A member id, a group id, and a group id with a scope in it, that hold the words of a line.
        (
            "Member a in group victim has failed, removing it from the group-1 in group g has failed, "
            "removing it from the group"
        ),
        "Group victim with generation 9 is now empty with generation 5 is now empty.",
        "[GroupId victim] Member a left the consumer group. [GroupId g] Member b left the consumer group.",
    ],
)
def test_what_can_be_read_in_two_ways_says_nothing(message: str, tmp_path: Path) -> None:
    """Ids are free text: such a line may have been written by whoever chose the id."""
    line = f"[2024-05-01 12:00:00,123] INFO {NEW}{message} ({LOGGER})\n"
    (tmp_path / "server.log").write_text(line, encoding="utf-8")
    assert "victim" not in {fact.group_id for fact in facts(tmp_path)}


def test_what_follows_an_event_is_not_part_of_it(tmp_path: Path) -> None:
    """A stray line after a line that is whole: pasted dates, lines of the garbage collector, stack traces."""
    left = (
        "Member b has left group through explicit `LeaveGroup` request; client reason: not provided"
    )
    line = f"[2024-05-01 12:00:00,123] INFO {NEW}[Group g] {left} ({LOGGER})\n"
    for stray in (
        "May 1, 2024 @ 12:00:01.000",
        "[12.3s][info][gc] GC(7) Pause 24M->4M",
        "\tat a.B",
    ):
        (tmp_path / "server.log").write_text(f"{line}{stray}\n", encoding="utf-8")
        (fact,) = facts(tmp_path)
        assert fact.text == "not provided"


def reports(*paths: Path, near_ms: int | None = None) -> list[str]:
    """The sentences on the files, with the group g known."""
    reader = LogReader(zone_of("UTC"), "UTC", near_ms)
    assert list(reader.facts(paths)) is not None
    return [report.sentence({"g"}) for report in reader.reports]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty."),
        ("root:x:0:0\nbin:x:1:1\n", "2 lines, none of a group coordinator."),
        (
            (
                f"[2024-05-01 12:00:00,123] INFO {NEW}{EMPTY} (x.Y)\n"
                f"[2024-05-01 12:00:01,123] INFO {NEW}A new wording of g (x.Y)\n"
                f"[2024-05-01 12:07:02,123] INFO {NEW}{EMPTY.replace('Group g', 'Group h')} (x.Y)\n"
            ),
            (
                "3 lines, 3 of the coordinator, 2 understood, 1 not (first: A new wording of g (x.Y)); "
                "2024-05-01 12:00 to 12:07 UTC; 1 belong to groups of this log; times without a zone are read as UTC."
            ),
        ),
        (
            f"[12:00:00,123] INFO {NEW}{EMPTY}\n",
            (
                "1 line, 1 of the coordinator, 1 understood; 1 hold a time of day and no date and were not used "
                f"(first: {EMPTY}); 0 belong to groups of this log."
            ),
        ),
        (
            f"May 01 12:00:00 host kafka: {NEW}{EMPTY}\n",
            (
                "1 line, 1 of the coordinator, 1 understood; 1 hold a date without a year and were not used "
                f"(first: {EMPTY}); 0 belong to groups of this log."
            ),
        ),
        (
            f"05/01/2024 12:00:00.123 Z {NEW}{EMPTY}\n",
            (
                "1 line, 1 of the coordinator, 1 understood; 2024-05-01 12:00 to 12:00 UTC; "
                "1 belong to groups of this log; dates such as 08/13/2026 are read as month/day/year."
            ),
        ),
    ],
)
def test_every_file_has_its_sentence(text: str, expected: str, tmp_path: Path) -> None:
    """How much was read, what was not understood, when, whose lines, and what was assumed."""
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    assert reports(tmp_path / "server.log") == [f"{tmp_path / 'server.log'}: {expected}"]


def test_a_year_is_taken_from_the_records(tmp_path: Path) -> None:
    """Syslog's dates have none: they are of the year that is nearest to the records, and the sentence says so."""
    (tmp_path / "messages").write_text(
        f"May 01 12:00:00 host kafka: {NEW}{EMPTY}\n", encoding="utf-8"
    )
    (sentence,) = reports(tmp_path, near_ms=AT_MS + 86_400_000)
    assert "2024-05-01 12:00" in sentence
    assert "dates without a year are read as the nearest to the records" in sentence
    (sentence,) = reports(tmp_path, near_ms=AT_MS - 100 * 86_400_000)
    assert "2024-05-01 12:00" in sentence


def test_packed_files_and_archives(tmp_path: Path) -> None:
    """gzip, bzip2, xz, zstd, zip and tar, one in another too; each file in an archive has a sentence of its own."""
    line = (LAYOUTS["Kafka's own"] + "\n").encode()
    plain = tmp_path / "server.log"
    plain.write_bytes(line)
    packed = {
        "log.gz": gzip.compress(line),
        "log.bz2": bz2.compress(line),
        "log.xz": lzma.compress(line),
        "log.zst": bytes(cramjam.zstd.compress(line)) * 2,
    }
    folder = tmp_path / "packed"
    folder.mkdir()
    for name, data in packed.items():
        (folder / name).write_bytes(data)
    with tarfile.open(folder / "logs.tar.gz", "w:gz") as tar:
        tar.add(plain, "broker-1/server.log")
        tar.add(folder / "log.bz2", "broker-2/server.log.1")
    with zipfile.ZipFile(folder / "logs.zip", "w") as archive:
        archive.write(plain, "a/server.log")
        archive.write(folder / "log.xz", "b/server.log")
    assert len(facts(folder)) == 5 + 2 + 2
    named = [sentence.split(": ", 1)[0].rsplit("/packed/", 1)[1] for sentence in reports(folder)]
    assert named == [
        *("log.bz2", "log.gz", "log.xz", "log.zst"),
        *("logs.tar.gz!broker-1/server.log", "logs.tar.gz!broker-2/server.log.1"),
        *("logs.zip!a/server.log", "logs.zip!b/server.log"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    """Every Unicode encoding, with a byte order mark or without, and line breaks of Windows."""
    line = LAYOUTS["Kafka's own"].replace("Group g", "Group größe")
    (tmp_path / "server.log").write_bytes(f"{line}\r\n{line}\r\n".encode(encoding))
    assert [fact.group_id for fact in facts(tmp_path)] == ["größe", "größe"]
