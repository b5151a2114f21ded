"""Remembers what bytes of clients decode to, up to so many bytes: a client decides how long they are."""

from collections.abc import Callable
from typing import Generic, TypeVar

from rebalance_audit import limits

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
