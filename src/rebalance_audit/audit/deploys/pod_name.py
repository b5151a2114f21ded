"""Names of pods inside client ids and instance ids, by whole segments.

A Deployment's pod is `<workload>-<hash of the ReplicaSet>-<suffix>`: the hash is a number of 32 bits in ten letters and
digits (`SafeEncodeString`), the suffix is random, of letters and digits without vowels (`apimachinery/pkg/util/rand`).
A StatefulSet's pod is `<workload>-<ordinal>` and keeps its name.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_HASH: Final = "bcdf456789"
_GENERATED: Final = re.compile(
    rf"(?P<workload>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)-(?P<hash>[{_HASH}]{{6,10}})-[{_ALPHABET}]{{5}}"
)
_ORDINAL: Final = re.compile(r"(?P<workload>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)-[0-9]{1,6}")
_SEGMENT: Final = re.compile(r"[A-Za-z0-9]+")
_SEGMENTS_MAX: Final = 40
"""Segments of an id that are looked at: a pod's name has at most 127, those in use a dozen."""
_NAME_SEGMENTS_MAX: Final = 20


class PodName(NamedTuple):
    """What a pod's name consists of."""

    workload: str
    hash: str | None
    """Hash of its ReplicaSet; None for a StatefulSet's pod."""


def parsed(name: str) -> PodName | None:
    """None for a name of neither form."""
    if generated := _GENERATED.fullmatch(name):
        return PodName(generated["workload"], generated["hash"])
    if ordinal := _ORDINAL.fullmatch(name):
        return PodName(ordinal["workload"], None)
    return None


def is_generated(name: str) -> bool:
    """Whether the name has a random suffix, so that no second pod ever has it."""
    return _GENERATED.fullmatch(name) is not None


def spans(text: str) -> Iterator[tuple[str, bool]]:
    """Parts of an id that begin and end with whole segments, the longest first, and whether each is at its start."""
    found = [match.span() for match in _SEGMENT.finditer(text)][:_SEGMENTS_MAX]
    for length in range(min(len(found), _NAME_SEGMENTS_MAX), 0, -1):
        for first in range(len(found) - length + 1):
            begin, end = found[first][0], found[first + length - 1][1]
            yield text[begin:end], begin == 0
