"""`decode` prints each line as if it were the first, though it is put together from parts of earlier ones."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.local.byte_ranges import ranges_of
from rebalance_audit.local.decode import RecordFilter, decoded_lines, range_shapes, record_filter
from rebalance_audit.tables.json_values import json_bytes
from rebalance_audit.wire.segments.folder import LogFolder, Segment
from tests.support.examples import examples
from tests.wire.golden import CAPTURE_NAMES, capture
from tests.wire.segments.hand_made import CODEC_NUMBERS, Rec, batch, segment

PARTITION = 3
EVERYTHING = record_filter((), (), None, None)

TEXT = st.one_of(
    st.sampled_from(("", "orders", 'a "b"', "back\\slash", "tab\t", "\x7f", "Gr\u00fc\u00dfe")),
    st.text(st.characters(codec="ascii"), max_size=140),
)
NUMBER = st.one_of(
    st.sampled_from((-(1 << 63), -1, 0, 9, 10, (1 << 63) - 1)),
    st.integers(-(1 << 63), (1 << 63) - 1),
)
EPOCH = st.sampled_from((-(1 << 31), -1, 0, 7, (1 << 31) - 1))
IDS = st.one_of(st.just(bytes(16)), st.binary(min_size=16, max_size=16))


def assert_lines_are_of_records(path: Path, wanted: RecordFilter = EVERYTHING) -> int:
    """Each line is the JSON of a record's object, recreated from its bytes; returns how many there are."""
    segment = Segment(PARTITION, path, 0, path.stat().st_size, None, 0)
    folder = LogFolder(path.parent, {PARTITION: (segment,)}, (), ())
    lines = b"".join(decoded_lines(folder, wanted)).splitlines()
    shapes = [
        shape for part in ranges_of(folder, [PARTITION]) for shape in range_shapes(part, wanted)
    ]
    assert lines == [json_bytes(shape) for shape in shapes]
    return len(lines)


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_real_segments(name: str) -> None:
    """Logs of real brokers; most lines are put together from parts of earlier ones."""
    for path in capture(name).segments.glob("*/*.log"):
        assert_lines_are_of_records(path)


@st.composite
def commit(draw: st.DrawFn) -> tuple[bytes, bytes | None]:
    """Key and value of an offset commit of any version, now and then cut short or with bytes left over."""
    record_type = draw(st.sampled_from((0, 1, 1, 1)))
    key = struct.pack(">h", record_type)
    for text in (draw(TEXT), draw(TEXT)):
        key += struct.pack(">h", len(text.encode())) + text.encode()
    key += struct.pack(">i", draw(EPOCH))
    return _damaged(draw, key), draw(st.one_of(st.none(), _value()))


@st.composite
def _value(draw: st.DrawFn) -> bytes:
    version = draw(st.sampled_from((0, 1, 2, 3, 4, 4, 4, 5)))
    value = struct.pack(">hq", version, draw(NUMBER))
    if version >= 3:
        value += struct.pack(">i", draw(EPOCH))
    metadata = draw(TEXT).encode()
    size = bytes((len(metadata) + 1,)) if len(metadata) < 127 else b"\x80\x01"
    value += (size if version >= 4 else struct.pack(">h", len(metadata))) + metadata
    value += struct.pack(">q", draw(NUMBER))
    if version == 1:
        value += struct.pack(">q", draw(NUMBER))
    if version >= 4:
        value += draw(st.one_of(st.just(b"\0"), IDS.map(lambda it: b"\1\0\x10" + it)))
    return _damaged(draw, value)


def _damaged(draw: st.DrawFn, data: bytes) -> bytes:
    match draw(st.sampled_from(("whole", "whole", "whole", "cut", "longer", "changed"))):
        case "cut":
            return data[: draw(st.integers(0, len(data)))]
        case "longer":
            return data + b"\0"
        case "changed":
            at = draw(st.integers(0, len(data) - 1))
            return data[:at] + bytes((data[at] ^ draw(st.integers(1, 255)),)) + data[at + 1 :]
    return data


BATCHES = st.lists(
    st.tuples(
        st.lists(st.one_of(commit(), st.just((b"\0\3\0\1g", None))), min_size=1, max_size=5),
        st.sampled_from(list(CODEC_NUMBERS)),
        st.sampled_from((0, 0, 0x08, 0x10)),
        EPOCH,
    ),
    max_size=4,
)


@settings(max_examples=examples(100))
@given(BATCHES, st.sampled_from(((), (1,), (0, 3))), st.sampled_from(((), ("", "orders"))))
def test_any_commits(
    tmp_path_factory: pytest.TempPathFactory,
    made: list[tuple[list[tuple[bytes, bytes | None]], str, int, int]],
    types: tuple[int, ...],
    groups: tuple[str, ...],
) -> None:
    """Numbers, texts and damage of all kinds, also where only some records are wanted."""
    parts, offset = [], 0
    for drawn, codec, bits, leader_epoch in made:
        records: list[Rec] = [(offset + at, at * 7 - 1, *pair) for at, pair in enumerate(drawn)]
        parts.append(batch(records, codec, attributes=bits, leader_epoch=leader_epoch))
        offset += len(records)
    path = segment(tmp_path_factory.getbasetemp() / "lines", parts)
    for _ in range(2):
        assert assert_lines_are_of_records(path) == offset
    assert_lines_are_of_records(path, record_filter(groups, types, 0, 20))
