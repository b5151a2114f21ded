"""Broker logs of whoever may write into one, or hand one over: generators of files, each with what it tries."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Final

import cramjam

MARK: Final = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0] "
STAMP: Final = "[2026-08-13 13:30:05,000] INFO "
EXPIRED: Final = "Member b in group g has failed, removing it from the group."


def long_line(size: int) -> bytes:
    """A line of a coordinator with an id as long as `size`, full of the words that lines are recognised by."""
    words = " in group g has failed, with old generation 1 (reason: ; client reason: ) in Stable state. "
    return f"{STAMP}{MARK}Member {words * (size // len(words))} in group g\n".encode()


def scopes(size: int) -> bytes:
    """A line with as many scopes as fit."""
    return f"{STAMP}{MARK}[GroupId g{'][MemberId a] ' * (size // 14)}left\n".encode()


def brackets(size: int) -> bytes:
    """JSON that never ends, before each of many marks."""
    numbers = "[" * 48 + "1," * 16_000
    marks = f'"{MARK}{EXPIRED}\n' * 400
    block = f"{numbers}\n{marks}"
    return (block * max(1, size // len(block))).encode()


def nested(size: int) -> bytes:
    """JSON deeper than any decoder goes, with a mark in it."""
    return ('{"a":' * (size // 5) + json.dumps(f"{STAMP}{MARK}{EXPIRED}") + "\n").encode()


def quotes(size: int) -> bytes:
    """A quoted field of quotes."""
    return f'm="{MARK}{chr(34) * size}\n'.encode()


def marks(size: int) -> bytes:
    """A line of nothing but marks."""
    return (MARK * (size // len(MARK))).encode()


def digits(size: int) -> bytes:
    """Numbers that may be times, and an epoch beyond any integer of the tables."""
    head = "1786627805000 " * (size // 14)
    return (
        f"{head}{STAMP}{MARK}Stabilized group g generation {'9' * 4_000} with 1 members.\n".encode()
    )


BY_NAME: Final = {
    each.__name__: each for each in (long_line, scopes, brackets, nested, quotes, marks, digits)
}
"""Files whose cost must be linear in their size (bytes)."""


def write_gzip_without_lines(path: Path, megabytes: int) -> None:
    """A gzip file of one line that never ends."""
    packer = zlib.compressobj(9, wbits=31)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(packer.compress(b"x" * (1 << 20)))
        file.write(packer.flush())


def write_zstd_bomb(path: Path, gigabytes: int) -> None:
    """A zstd frame of runs: four bytes for every 128 KiB, as RFC 8878 allows."""
    blocks = gigabytes << 13
    header = b"\x28\xb5\x2f\xfd" + b"\x00" + b"\x58"
    run = ((131_072 << 3) | 2).to_bytes(3, "little") + b"x"
    last = ((1 << 3) | 3).to_bytes(3, "little") + b"x"
    path.write_bytes(header + run * blocks + last)


def nested_gzip(depth: int) -> bytes:
    """A gzip file in a gzip file, and so on."""
    data = f"{STAMP}{MARK}{EXPIRED}\n".encode()
    for _ in range(depth):
        data = gzip.compress(data)
    return data


def honest_zstd() -> bytes:
    """A frame that compresses as well as logs do."""
    lines = "".join(
        f"{STAMP}{MARK}Group g{number} with generation 5 is now empty.\n"
        for number in range(20_000)
    )
    return bytes(cramjam.zstd.compress(lines.encode()))
