"""A sentence with the members and moments that stand in it as parts, not as text to be searched for.

An id from the log is a parameter of a sentence. Who prints the sentence chooses how its members are named and whether
its moment has an age; no id can be mistaken for a word, and no word for an id.
"""

from collections.abc import Iterable, Iterator
from typing import Self

from rebalance_audit.sentences import words


class Name(str):
    """A slot with a name from the log: of a group, a topic, a host."""

    __slots__ = ()


class MemberId(Name):
    """A slot with the id of a member, for which a printer may put its name."""

    __slots__ = ()


class Stored(str):
    """A slot with a text that is not ours: what a client or a broker said, or a text of an earlier release."""

    __slots__ = ()


class MomentUtc(str):
    """A slot with a time in UTC; a printer may add its age."""

    __slots__ = ("timestamp_ms",)

    timestamp_ms: int | None

    def __new__(cls, timestamp_ms: int | None) -> Self:
        """Takes epoch milliseconds; None where the log does not hold it."""
        moment = super().__new__(cls, words.utc(timestamp_ms))
        moment.timestamp_ms = timestamp_ms
        return moment


class Sentence(str):
    """A text with its parts: as text it is exact, with whole ids, for programs; `MemberNames` writes it for people."""

    __slots__ = ("parts",)

    parts: tuple[str, ...]
    """Our words, and slots: Name, MemberId, Stored, MomentUtc."""

    def __new__(cls, parts: Iterable[str]) -> Self:
        """Takes the parts in their order; a sentence among them gives its own."""
        flat = tuple(_flat(parts))
        sentence = super().__new__(cls, "".join(flat))
        sentence.parts = flat
        return sentence

    @classmethod
    def plain(cls, text: str) -> Self:
        """Words of ours, without slots."""
        return cls((text,))

    @classmethod
    def joined(cls, between: str, parts: Iterable[str]) -> Self:
        """The parts, sentences or texts, with `between` between them."""
        found: list[str] = []
        for part in parts:
            found += [between, part] if found else [part]
        return cls(found)

    def aged(self, now_ms: int | None) -> "Sentence":
        """The sentence with the age of its first moment; unchanged where the time is unknown."""
        for place, part in enumerate(self.parts):
            if isinstance(part, MomentUtc):
                at_ms = part.timestamp_ms
                if now_ms is None or at_ms is None or at_ms > now_ms:
                    break
                age = f" ({words.ago(now_ms - at_ms)})"
                return Sentence([*self.parts[: place + 1], age, *self.parts[place + 1 :]])
        return self


class EvidenceSentence(Sentence):
    """A sentence that names a record or a line of a broker's log; it follows what it shows."""

    __slots__ = ()


def _flat(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Sentence):
            yield from part.parts
        elif part:
            yield part
