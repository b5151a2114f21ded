"""What lies in a log folder and is no healthy segment: it costs no more than its size, and ends as it should."""

import gzip
import os
import socket
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest

from rebalance_audit.wire.segments.batches import BATCH_RECORDS_MAX
from tests.hostile.tenant_log import TenantLog
from tests.hostile.within_limits import rebalance_audit
from tests.wire.segments.hand_made import raw_batch, segment, varint

ZEROS = bytes(64 << 20)


def zstd(data: bytes) -> bytes:
    """Compressed with zstd."""
    return bytes(cramjam.zstd.compress(data))


def records_of_nothing(count: int) -> bytes:
    """So many records without key and value."""
    made = bytearray()
    for number in range(count):
        body = b"\0\0" + varint(number) + varint(-1) + varint(-1) + varint(0)
        made += varint(len(body)) + body
    return bytes(made)


def large_values(count: int) -> list[bytes]:
    """Batches of one record each that claims to be of a group, 16 MiB of zeros."""
    body = b"\0\0\0" + varint(5) + b"\0\x02\0\x01g" + varint(16 << 20) + bytes(16 << 20) + b"\0"
    packed = gzip.compress(varint(len(body)) + body, 1)
    return [raw_batch(packed, 1, base_offset=offset, attributes=1) for offset in range(count)]


@pytest.mark.parametrize("command", ["inspect", "decode"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: [raw_batch(zstd(ZEROS), 1, offset, 4) for offset in range(50)],
        lambda: [raw_batch(gzip.compress(ZEROS, 1), 1, offset, 1) for offset in range(4)],
        lambda: large_values(16),
        lambda: [
            raw_batch(zstd(records_of_nothing(BATCH_RECORDS_MAX + 1)), BATCH_RECORDS_MAX + 1, 0, 4)
        ],
        lambda: [raw_batch(b"", (1 << 31) - 1)],
    ],
    ids=["zstd", "gzip", "large values", "many records", "a count alone"],
)
def test_bombs(tmp_path: Path, command: str, make: Callable[[], list[bytes]]) -> None:
    """Small files that grow when they are decompressed, and counts without bytes."""
    segment(tmp_path / "__consumer_offsets-0", make())
    ended = rebalance_audit(command, tmp_path)
    assert ended.exit_code == 0, ended.err


def make_pipe(path: Path) -> None:
    """A named pipe."""
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    """A socket, by a short name: its address has room for some 100 bytes."""
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (make_pipe, "a named pipe"),
        (make_socket, "a socket"),
        (Path.mkdir, "a directory"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
    ],
    ids=["pipe", "socket", "directory", "device"],
)
@pytest.mark.parametrize("command", ["inspect", "decode"])
def test_other_files_than_regular_ones(
    tmp_path: Path, command: str, make: Callable[[Path], None], what: str
) -> None:
    """One sentence, instead of a command that waits for ever or never ends."""
    log = TenantLog()
    log.generation("g", 1, [("t", (0,))])
    log.write(tmp_path)
    path = tmp_path / "__consumer_offsets-0" / f"{9:020d}.log"
    make(path)
    ended = rebalance_audit(command, tmp_path)
    assert ended.exit_code == 3
    assert f"{path} cannot be read: it is {what}, not a regular file." in ended.err


@pytest.mark.parametrize("number", [1 << 31, 10**30])
def test_partition_folders_with_numbers_that_kafka_does_not_have(
    tmp_path: Path, number: int
) -> None:
    """They are not read, and said not to be."""
    log = TenantLog()
    log.generation("g", 1, [("t", (0,))])
    log.write(tmp_path)
    segment(tmp_path / f"__consumer_offsets-{number}", [raw_batch(b"", 0)])
    ended = rebalance_audit("inspect", tmp_path)
    assert ended.exit_code == 0, ended.err
    said = f"__consumer_offsets-{number} is no partition folder and is not read"
    assert said.replace(" ", "") in "".join(ended.out.split())
