import zlib
from collections.abc import Callable

import cramjam
import pytest
from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode

from rebalance_audit.wire.segments import codecs
from rebalance_audit.wire.segments.codecs import (
    CompressionError,
    decompress,
    repair_lz4_frame,
)

ENCODERS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (1, gzip_encode),
    "snappy in xerial framing": (2, snappy_encode),
    "snappy raw": (2, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "lz4": (3, lz4_encode),
    "zstd": (4, zstd_encode),
}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("size", [0, 1, 100_000, 3_000_000])
def test_round_trip(name: str, size: int) -> None:
    """What a Kafka client compresses comes back, even where it expands to many times its size."""
    codec, encode = ENCODERS[name]
    data = bytes(i % 251 for i in range(1000)) * (size // 1000) + b"x" * (size % 1000)
    assert decompress(codec, encode(data)) == data


@pytest.mark.parametrize("name", ENCODERS)
def test_bomb(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes that expand to more than the bound are refused, and never expanded in full."""
    monkeypatch.setattr(codecs, "DECOMPRESSED_BYTES_MAX", 1 << 20)
    monkeypatch.setattr(codecs, "DECOMPRESSED_RATIO_MAX", 1 << 20)
    codec, encode = ENCODERS[name]
    exact = encode(bytes(1 << 20))
    assert len(decompress(codec, exact)) == 1 << 20
    with pytest.raises(CompressionError, match="1048576 bytes"):
        decompress(codec, encode(bytes((1 << 20) + 1)))


@pytest.mark.parametrize("name", ENCODERS)
def test_bomb_below_the_bound(name: str) -> None:
    """What a batch may expand to depends on its own size: a small file cannot cost minutes and gigabytes."""
    codec, encode = ENCODERS[name]
    bomb = encode(bytes(16 << 20))
    most = codecs.decompressed_bytes_max(len(bomb))
    if most >= 16 << 20:  # the format itself does not compress better
        assert len(decompress(codec, bomb)) == 16 << 20
        return
    with pytest.raises(CompressionError, match=f"{most} bytes"):
        decompress(codec, bomb)


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("damage", ["cut", "garbage", "empty"])
def test_damage(name: str, damage: str) -> None:
    """Bytes that are truncated or of no codec at all are refused with a reason, never with another exception."""
    codec, encode = ENCODERS[name]
    whole = encode(bytes(range(256)) * 300)
    data = {"cut": whole[:-9], "garbage": b"\x91garbage" * 9, "empty": b""}[damage]
    with pytest.raises(CompressionError, match=r"^does not decompress with "):
        decompress(codec, data)


@pytest.mark.parametrize("size", [-1, 0, 5, 2**31 - 1])
def test_xerial_block_sizes(size: int) -> None:
    """A block length that does not fit the batch is refused."""
    framed = snappy_encode(b"records")[:16] + (size & 0xFFFFFFFF).to_bytes(4) + b"1234"
    with pytest.raises(CompressionError, match="a block reaches beyond it"):
        decompress(2, framed)


def test_bytes_behind_gzip() -> None:
    """Kafka writes one gzip member; bytes after it are damage, not to be dropped silently."""
    with pytest.raises(CompressionError, match="does not end with the batch"):
        decompress(1, gzip_encode(b"a") + b"rest")


@pytest.mark.parametrize("codec", [0, 5, 6, 7])
def test_codec_that_kafka_does_not_define(codec: int) -> None:
    """An unknown codec number is named."""
    with pytest.raises(CompressionError, match=f"compression codec {codec}"):
        decompress(codec, b"")


def test_lz4_of_the_oldest_brokers() -> None:
    """Before 0.10 the frame's header checksum included the magic number; such a frame is repaired, then readable."""
    good = lz4_encode(b"records" * 100)
    assert repair_lz4_frame(good) == good
    old = good[:6] + bytes((good[6] ^ 0xFF,)) + good[7:]
    with pytest.raises(CompressionError):
        decompress(3, old)
    assert repair_lz4_frame(old) == good
    assert repair_lz4_frame(b"short") == b"short"


def test_zlib_is_not_gzip() -> None:
    """A zlib stream without the gzip wrapper is refused, as by Java's GZIPInputStream."""
    with pytest.raises(CompressionError, match="gzip"):
        decompress(1, zlib.compress(b"records"))
