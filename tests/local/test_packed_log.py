"""Logs in archives, and compressed segments."""

import gzip
import io
import lzma
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest

import rebalance_audit as ra
from rebalance_audit import limits
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, SourceNotReadable
from tests.cli.call import call, segments

LOG = segments("failover")
SEGMENT = "00000000000000000000.log"


def tarred(prefix: str = "", log: Path = LOG) -> bytes:
    """The log as tar; its partition folders below `prefix`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for folder in sorted(log.iterdir()):
            archive.add(folder, f"{prefix}{folder.name}")
    return packed.getvalue()


def zipped() -> bytes:
    """The log as zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(LOG.rglob("*")):
            archive.write(file, file.relative_to(LOG))
    return packed.getvalue()


def zstd(data: bytes) -> bytes:
    """As `zstd` compresses."""
    return bytes(cramjam.zstd.compress(data))


def rows(path: Path) -> dict[str, list[object]]:
    """What the audit of a log finds."""
    audit = ra.audit_segments(path)
    return {name: list(audit.table(f"gold.{name}")) for name in audit.tables}


PACKED: dict[str, Callable[[], bytes]] = {
    "log.tar": tarred,
    "log.tgz": lambda: gzip.compress(tarred("backup/broker-1/")),
    "log.tar.zst": lambda: zstd(tarred("./")),
    "log.tar.xz": lambda: lzma.compress(tarred()),
    "log.zip": zipped,
}


@pytest.mark.parametrize("name", PACKED)
def test_an_archive_is_audited_as_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row for row, with the names of topics; nothing of it is left afterwards."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    archive = tmp_path / name
    archive.write_bytes(PACKED[name]())
    assert rows(archive) == rows(LOG)
    for command in ("decode", "state"):
        assert call(command, archive) == call(command, LOG)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("compress", [gzip.compress, zstd], ids=["gz", "zst"])
def test_compressed_segments_are_read_beside_others(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """One partition's segments are compressed, the others are not; the folder stays as it was."""
    copy = tmp_path / "copy"
    shutil.copytree(LOG, copy)
    folder = min(copy.glob(f"{OFFSETS_TOPIC}-*"))
    suffix = "gz" if compress is gzip.compress else "zst"
    for file in folder.glob("*.log"):
        file.with_name(f"{file.name}.{suffix}").write_bytes(compress(file.read_bytes()))
        file.unlink()
    before = sorted(copy.rglob("*"))
    assert rows(copy) == rows(LOG)
    plain = LOG / folder.name
    assert rows(folder)["epochs"] == rows(plain)["epochs"]
    assert rows(next(folder.glob(f"*.{suffix}")))["epochs"] == rows(plain)["epochs"]
    assert sorted(copy.rglob("*")) == before


def bomb() -> bytes:
    """One segment of zeros in a small archive."""
    return gzip.compress(tar_of({f"{OFFSETS_TOPIC}-0/{SEGMENT}": bytes(200 << 20)}))


def tar_of(files: dict[str, bytes]) -> bytes:
    """An archive of these files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "a bomb": (bomb, "unpacks to more than 300 times its size"),
    "two replicas": (
        lambda: tar_of({f"{broker}/{OFFSETS_TOPIC}-0/{SEGMENT}": b"" for broker in "ab"}),
        f"holds {OFFSETS_TOPIC}-0/{SEGMENT} twice, as .*: give one replica",
    ),
    "no segments": (lambda: tar_of({"orders-0/" + SEGMENT: b""}), "holds no segments of"),
    "cut short": (lambda: gzip.compress(tarred())[:-100], "cannot be read: "),
    "no archive": (lambda: b"not an archive", "holds no segments of"),
    "paths that lead out": (
        lambda: tar_of({f"../../{SEGMENT}": b"", f"/etc/{SEGMENT}": b""}),
        "holds no segments of",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_one_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the archive and what to do; nothing is left and nothing is written elsewhere."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    make, sentence = REFUSED[name]
    archive = tmp_path / "log.tgz"
    archive.write_bytes(make())
    with pytest.raises(SourceNotReadable, match=f"^{archive}.*{sentence}"):
        open_log(archive)
    assert list(temporary.iterdir()) == []


def test_segments_of_an_archive_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Millions of empty files would fill the disk with names."""
    fewer = limits.ARCHIVE_SEGMENTS._replace(most=2)
    monkeypatch.setattr(limits, "ARCHIVE_SEGMENTS", fewer)
    archive = tmp_path / "log.tar"
    archive.write_bytes(tar_of({f"{OFFSETS_TOPIC}-{n}/{SEGMENT}": b"" for n in range(3)}))
    with pytest.raises(SourceNotReadable, match="more than 2 segments: unpack it first"):
        open_log(archive)


def test_an_archive_is_neither_watched_nor_ingested(tmp_path: Path) -> None:
    """Archives do not grow, and Spark's workers would each have to unpack them."""
    archive = tmp_path / "log.tgz"
    archive.write_bytes(gzip.compress(tarred()))
    done = call("watch", f"segments:{archive}")
    assert done.code == 3
    assert done.err == f"Error: {archive} is an archive: unpack it first.\n"
