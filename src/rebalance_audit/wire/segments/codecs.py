"""Compression codecs of record batches, with a bound on the decompressed size."""

import zlib
from collections.abc import Callable
from typing import Final

import cramjam
from xxhash import xxh32_intdigest

from rebalance_audit import limits

CODEC_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""By the number in the lowest three attribute bits of a batch."""

DECOMPRESSED_BYTES_MAX: Final = limits.DECOMPRESSED_BYTES.most
DECOMPRESSED_RATIO_MAX: Final = limits.DECOMPRESSED_RATIO.most

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER_BYTES: Final = 16
FIRST_GUESS_BYTES_MIN: Final = 64 << 10

LZ4_DESCRIPTOR: Final = slice(4, 6)


class CompressionError(ValueError):
    """Bytes that do not decompress; the message is a clause that completes "the batch ..."."""


def decompress(codec: int, data: bytes) -> bytes:
    """The records of a batch as bytes, from those after its header.

    Raises CompressionError for an unknown codec, for bytes not written with it, and for a result of more than
    `decompressed_bytes_max`. Sources: KafkaLZ4BlockInputStream, SnappyInputStream of snappy-java.
    """
    decoder = DECODERS.get(codec)
    if decoder is None:
        raise CompressionError(f"has compression codec {codec}, which Kafka does not define")
    return decoder(data, decompressed_bytes_max(len(data)))


def decompressed_bytes_max(compressed_bytes: int) -> int:
    """To how much a batch of this size may decompress."""
    by_ratio = limits.DECOMPRESSED_BYTES_FREE + DECOMPRESSED_RATIO_MAX * compressed_bytes
    return min(DECOMPRESSED_BYTES_MAX, by_ratio)


def repair_lz4_frame(frame: bytes) -> bytes:
    """An LZ4 frame of a magic 0 message with the header checksum that the LZ4 format requires.

    Kafka before 0.10 took that checksum over the frame's magic number as well (KAFKA-3160). Its frames have a
    descriptor of two bytes: no content size, no dictionary.
    """
    descriptor = frame[LZ4_DESCRIPTOR]
    if len(descriptor) < 2:
        return frame
    checksum = xxh32_intdigest(descriptor) >> 8 & 0xFF
    return frame[: LZ4_DESCRIPTOR.stop] + bytes((checksum,)) + frame[LZ4_DESCRIPTOR.stop + 1 :]


def _gunzip(data: bytes, most: int) -> bytes:
    decoder = zlib.decompressobj(wbits=31)
    try:
        blob = decoder.decompress(data, most + 1)
    except zlib.error as error:
        raise CompressionError(f"does not decompress with gzip: {error}") from error
    if len(blob) > most:
        raise CompressionError(f"decompresses to more than {most} bytes")
    if not decoder.eof or decoder.unused_data:
        raise CompressionError(
            "does not decompress with gzip: the stream does not end with the batch"
        )
    return blob


def _unsnappy(data: bytes, most: int) -> bytes:
    if not data.startswith(XERIAL_MAGIC):
        return b"".join(_snappy_blocks([data], most))
    blocks = []
    at = XERIAL_HEADER_BYTES
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], signed=True)
        at += 4
        if not 0 < size <= len(data) - at:
            raise CompressionError("does not decompress with snappy: a block reaches beyond it")
        blocks.append(data[at : at + size])
        at += size
    return b"".join(_snappy_blocks(blocks, most))


def _snappy_blocks(blocks: list[bytes], most: int) -> list[bytes]:
    try:
        if sum(map(cramjam.snappy.decompress_raw_len, blocks)) > most:
            raise CompressionError(f"decompresses to more than {most} bytes")
        return [bytes(cramjam.snappy.decompress_raw(block)) for block in blocks]
    except cramjam.DecompressionError as error:
        raise CompressionError(f"does not decompress with snappy: {error}") from error


def _unframe(name: str) -> Callable[[bytes, int], bytes]:
    """A decoder of frames that do not give their decompressed size: it tries ever larger buffers, up to the bound."""
    codec = getattr(cramjam, name)

    def decode(data: bytes, most: int) -> bytes:
        room = max(FIRST_GUESS_BYTES_MIN, 16 * len(data))
        while True:
            room = min(room, most)
            blob = bytearray(room)
            try:
                size = codec.decompress_into(data, blob)
            except cramjam.DecompressionError as error:
                if room == most:
                    raise CompressionError(
                        f"does not decompress with {name} to at most {room} bytes: {error}"
                    ) from error
                room *= 16
            else:
                return bytes(memoryview(blob)[:size])

    return decode


DECODERS: Final[dict[int, Callable[[bytes, int], bytes]]] = {
    1: _gunzip,
    2: _unsnappy,
    3: _unframe("lz4"),
    4: _unframe("zstd"),
}
