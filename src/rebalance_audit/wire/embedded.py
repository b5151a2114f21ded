"""Messages that members put into each other's bytes: an int16 version, then fields.

Any client may send any bytes. They are read strictly, but as far as they go: a message whose last fields
are missing keeps those that are there. Versions only add fields at the end, so a reader takes the part
it knows from a version it does not know. What bytes decode to is remembered, up to so many bytes: a client decides
how long they are.
"""

from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from rebalance_audit import limits
from rebalance_audit.wire import generic, instances
from rebalance_audit.wire.decoder_runtime import FAILURES
from rebalance_audit.wire.decoders import embedded_decoder
from rebalance_audit.wire.primitives import SCALARS
from rebalance_audit.wire.schema import message_named

Decoded = TypeVar("Decoded")


class PayloadCache(Generic[Decoded]):
    """A decoder that remembers the payloads used last, as long as they have at most `bytes_max` together."""

    def __init__(self, decode: Callable[[bytes], Decoded], bytes_max: int) -> None:
        self._decode = decode
        self._bytes_max = bytes_max
        self._known: dict[bytes, Decoded] = {}
        """Those used least recently come first."""
        self.size_bytes = 0
        """Of the payloads that are remembered."""

    def __call__(self, payload: bytes) -> Decoded:
        """What the payload decodes to."""
        known = self._known
        if payload in known:
            decoded = known[payload] = known.pop(payload)
            return decoded
        decoded = self._decode(payload)
        if len(payload) <= self._bytes_max:
            known[payload] = decoded
            self.size_bytes += len(payload) + 1
            while self.size_bytes > self._bytes_max:
                oldest = next(iter(known))
                del known[oldest]
                self.size_bytes -= len(oldest) + 1
        return decoded


def remembered(decode: Callable[[bytes], Decoded]) -> PayloadCache[Decoded]:
    """Decorator: remember what payloads decode to, within `limits.PAYLOAD_BYTES`."""
    return PayloadCache(decode, limits.PAYLOAD_BYTES.most)


_INT16: Final = SCALARS["int16"]


class Malformed(NamedTuple):
    """Bytes that do not hold even the first field of the message."""

    detail: str
    """A clause that says why."""


class Embedded(NamedTuple):
    """A message as far as its bytes go."""

    version: int
    """As in the bytes; it may be newer than the newest one known."""
    fields: Any
    """The instance; fields that were not read have their defaults."""
    unread: tuple[str, ...]
    """JSON names of the fields that could not be read; empty if the message is complete."""


def read(data: bytes, cls: type) -> Embedded | Malformed:
    """Read an instance of the generated class `cls`. Never raises, whatever the bytes."""
    message = message_named(cls.__name__)
    if len(data) < _INT16.size:
        return Malformed(f"{len(data)} bytes, and the version alone has 2")
    (version,) = _INT16.unpack_from(data)
    lowest, newest = message.versions
    if version < lowest or newest is None:
        return Malformed(f"version {version}")
    known_version = min(version, newest)
    try:
        return Embedded(version, embedded_decoder(message.name, known_version)(data), ())
    except FAILURES:
        (layout,) = message.layouts_of(known_version)
    found = generic.decode_leading(message, known_version, layout, data, _INT16.size)
    problem = found.problem
    if problem is not None and not found.value:
        return Malformed(f"{problem.path} at byte {problem.position}: {problem}")
    return Embedded(version, instances.to_instance(message, layout, found.value), found.unread)


def encode_as_read(read: Embedded) -> bytes:
    """Bytes that `read` finds the same in: the fields that it read, under the version that they had.

    What follows the newest known version is lost. Raises ValueError that names the field.
    """
    message = message_named(type(read.fields).__name__)
    _, newest = message.versions
    known_version = read.version if newest is None else min(read.version, newest)
    (layout,) = message.layouts_of(known_version)
    plain = instances.to_dict(layout, read.fields)
    leading = generic.encode_leading(message, known_version, layout, plain, read.unread)
    return _INT16.pack(read.version) + leading


def encode_embedded(fields: Any, version: int) -> bytes:
    """Bytes of an instance in a version. Raises ValueError that names the field."""
    message = message_named(type(fields).__name__)
    layout = message.layout_named(version, "")
    plain = instances.to_dict(layout, fields)
    return _INT16.pack(version) + generic.encode(message, version, layout, plain)
