"""Broker logs of an attacker: bounded in time and memory, and never another group's evidence."""

import bz2
import gzip
import io
import struct
import tarfile
import time
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.carriers.archives import BrokerLogNotReadable
from rebalance_audit.cli.input_notes import print_file_notes
from rebalance_audit.limits import ARCHIVE_DIRECTORY_BYTES
from rebalance_audit.time_zones import zone_of
from tests.hostile import broker_logs
from tests.hostile.broker_logs import EXPIRED, MARK, STAMP
from tests.support.examples import examples

SMALL, LARGE = 250_000, 1_000_000
MEMORY_BYTES_MAX = 64 << 20
SLOWEST_BYTES_PER_S = 100_000
"""Far below what any of them takes, and far above what quadratic cost would leave."""


def read(path: Path) -> LogReader:
    """The reader, once it has read the file."""
    reader = LogReader(zone_of("UTC"))
    for _ in reader.facts([path]):
        pass
    return reader


@pytest.mark.parametrize("name", broker_logs.BY_NAME)
def test_cost_is_linear_in_bytes(name: str, tmp_path: Path) -> None:
    """Four times the bytes cost about four times as much, and no more memory."""
    path = tmp_path / "server.log"
    for size in (SMALL, LARGE):
        data = broker_logs.BY_NAME[name](size)
        path.write_bytes(data)
        begin = time.process_time()
        read(path)
        assert time.process_time() - begin < len(data) / SLOWEST_BYTES_PER_S
    path.write_bytes(broker_logs.BY_NAME[name](SMALL))
    tracemalloc.start()
    read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEMORY_BYTES_MAX


def test_a_line_without_an_end_is_not_held(tmp_path: Path) -> None:
    """A gzip file of one endless line is read in a few MiB, or refused for what it expands to."""
    path = tmp_path / "server.log.gz"
    broker_logs.write_gzip_without_lines(path, 60)
    tracemalloc.start()
    reader = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEMORY_BYTES_MAX
    assert reader.reports[0].sentence().endswith("1 line, none of a group coordinator.")
    broker_logs.write_gzip_without_lines(path, 200)
    with pytest.raises(BrokerLogNotReadable, match="unpacks to more than 300 times its size"):
        read(path)


def test_a_zstd_bomb_is_refused_before_it_goes_off(tmp_path: Path) -> None:
    """Its blocks say what they unpack to; an honest frame is read."""
    path = tmp_path / "server.log.zst"
    broker_logs.write_zstd_bomb(path, 8)
    assert path.stat().st_size < 300_000
    begin = time.process_time()
    with pytest.raises(BrokerLogNotReadable, match="unpacks to more than 300 times its size"):
        read(path)
    assert time.process_time() - begin < 5
    path.write_bytes(broker_logs.honest_zstd())
    assert read(path).reports[0].understood == 20_000


def test_archives_in_archives_end(tmp_path: Path) -> None:
    """Three deep is read, four is refused."""
    path = tmp_path / "server.log.gz"
    path.write_bytes(broker_logs.nested_gzip(3))
    assert read(path).reports[0].understood == 1
    path.write_bytes(broker_logs.nested_gzip(4))
    with pytest.raises(BrokerLogNotReadable, match="archives more than 3 deep"):
        read(path)


_PIECES = st.sampled_from(
    [
        *(
            MARK,
            STAMP,
            EXPIRED,
            "[GroupId g] ",
            "[GroupCoordinator 1]: ",
            "given member.id ",
            "\n",
            "\r\n",
        ),
        *(
            '{"message":"',
            '"}',
            '""',
            "\\",
            "\\u001b[0m",
            "\x1b[31m",
            "{",
            "[",
            "]",
            "(",
            ")",
            '","',
            "'",
        ),
        *("2026-08-13T13:30:05.000Z stdout P ", "2026-08-13T13:30:05Z stdout F ", "1786627805000"),
        *(
            "Aug 13 13:30:05 ",
            "08/13/26 1:30:05 PM ",
            "99999999999999999999",
            "\ufeff",
            "\u2028",
            "\x00",
        ),
        *(
            "Preparing to rebalance group g in state Stable with old generation 1 (reason: ",
            "; client reason: ",
        ),
        *("Member a left the consumer group.", "Bumped group epoch to 5.", "\udcff", "x" * 300),
    ]
)
_TEXTS = st.lists(_PIECES | st.text(max_size=8), max_size=25).map("".join)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(_TEXTS, max_size=4), st.sampled_from(["utf-8", "utf-16", "utf-16-be"]))
def test_any_bytes_end_in_facts_and_one_printable_sentence(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], encoding: str
) -> None:
    """Whatever a file holds: no error, and nothing of it that controls a terminal reaches one."""
    path = tmp_path_factory.mktemp("fuzz") / "server.log"
    path.write_bytes("\n".join(texts).encode(encoding, "surrogatepass"))
    reader = LogReader(zone_of("Europe/Berlin"), "Europe/Berlin", 1_786_627_805_000)
    for fact in reader.facts([path]):
        assert 1_000_000_000_000 < fact.at_ms < 5_000_000_000_000
        assert fact.place.startswith("server.log:")
    (report,) = reader.reports
    assert report.understood <= report.coordinator_lines
    outcome = report.outcome({"g"})
    assert outcome.not_understood >= 0


@settings(max_examples=examples(100), deadline=None)
@given(data=st.binary(max_size=400))
def test_any_bytes_as_a_packed_file(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Damaged archives are refused with a sentence, never with another error."""
    path = tmp_path_factory.mktemp("fuzz") / "server.log"
    for magic in (
        b"",
        b"\x1f\x8b\x08",
        b"BZh9",
        b"\xfd7zXZ\x00",
        b"\x28\xb5\x2f\xfd",
        b"PK\x03\x04",
    ):
        path.write_bytes(magic + data)
        with suppress(BrokerLogNotReadable):
            read(path)


def test_sentences_show_controls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first line that was not understood is shown: what it holds must not reach the terminal as it is."""
    path = tmp_path / "server.log"
    path.write_text(f"{STAMP}{MARK}\x1b]0;title\x07\x9b31m \u202e odd\n", encoding="utf-8")
    print_file_notes([report.outcome() for report in read(path).reports])
    printed = capsys.readouterr().err
    assert "odd" in printed
    assert printed.removesuffix("\n").isprintable()


@pytest.mark.parametrize(
    ("kind", "size", "members", "expected"),
    [
        (tarfile.GNUTYPE_LONGNAME, 200 << 20, 1, "a header of 209,715,200 bytes"),
        (tarfile.XHDTYPE, 200 << 20, 1, "a header of 209,715,200 bytes"),
        (tarfile.REGTYPE, 0, 20_001, "more than 20,000 files"),
    ],
)
def test_headers_of_a_tar_are_bounded(
    kind: bytes, size: int, members: int, expected: str, tmp_path: Path
) -> None:
    """A header may claim a name of any length, and names of empty files compress a thousand times."""
    header = tarfile.TarInfo("server.log")
    header.type, header.size = kind, size
    path = tmp_path / "logs.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.writelines(header.tobuf(tarfile.GNU_FORMAT) for _ in range(members))
        file.writelines(bytes(1 << 20) for _ in range(size >> 20))
    tracemalloc.start()
    with pytest.raises(BrokerLogNotReadable, match=expected):
        read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEMORY_BYTES_MAX


def test_entries_of_a_zip_share_one_budget(tmp_path: Path) -> None:
    """Each entry alone is below what any file may unpack to."""
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"server-{number}.log", b"x" * (40 << 20))
    with pytest.raises(BrokerLogNotReadable, match="unpacks to more than 300 times its size"):
        read(path)


def tar_header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A header that claims a size."""
    header = tarfile.TarInfo(name)
    header.type, header.size = kind, size
    return header.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    "head",
    [
        tar_header("server.log", 100 << 20, b"Z"),
        tar_header("inner.tar", 100 << 20) + tar_header("server.log", 0) + bytes(1024),
        b"\x28\xb5\x2f\xfd",
    ],
    ids=["a member of no known kind", "after the end of a tar in a tar", "a frame to be copied"],
)
def test_what_is_unpacked_and_skipped_counts(head: bytes, tmp_path: Path) -> None:
    """Zeros that become no log take time as well, and a copied frame room on the disk."""
    path = tmp_path / "logs.bz2"
    with bz2.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        file.writelines(bytes(1 << 20) for _ in range(100))
    with pytest.raises(BrokerLogNotReadable, match="unpacks to more than 300 times its size"):
        read(path)


def zipped_log() -> bytes:
    """A zip that holds one log."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("server.log", b"x")
    return packed.getvalue()


def test_a_zip_is_read_only_where_it_can_be_sought_in(tmp_path: Path) -> None:
    """In a compressed file, each entry that lies before the last one would unpack all again."""
    path = tmp_path / "logs.zip.gz"
    path.write_bytes(gzip.compress(zipped_log()))
    with pytest.raises(BrokerLogNotReadable, match="a zip in another archive: unpack it first"):
        read(path)


def test_the_directory_of_a_zip_is_bounded(tmp_path: Path) -> None:
    """Every entry becomes a Python object, whether or not the zip holds a file for it."""
    data = zipped_log()
    begin, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entries = data[begin:end] * (ARCHIVE_DIRECTORY_BYTES.most // (end - begin) + 1)
    size = struct.pack("<I", len(entries))
    path = tmp_path / "logs.zip"
    path.write_bytes(data[:begin] + entries + data[end : end + 12] + size + data[end + 16 :])
    tracemalloc.start()
    with pytest.raises(BrokerLogNotReadable, match="a directory of 16,777,"):
        read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEMORY_BYTES_MAX
