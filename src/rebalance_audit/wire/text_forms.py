"""Uuids and bytes as Kafka's JSON writes them."""

import binascii
import functools
from typing import Final

_CACHED_UUIDS: Final = 4096
_UUID_TEXT_LENGTH: Final = 22
_URL_SAFE: Final = str.maketrans("+/", "-_")


def base64_text(data: bytes) -> str:
    """Bytes in standard base64."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


@functools.lru_cache(_CACHED_UUIDS)
def uuid_text(uuid: bytes) -> str:
    """The 16 bytes of a uuid in url-safe base64 without padding."""
    return base64_text(uuid)[:_UUID_TEXT_LENGTH].translate(_URL_SAFE)
