"""The functions of a generated module: each body once, named after all that it serves.

Versions and layouts of a message often differ in nothing that one function reads. While functions are written they are
called by marks; their names follow when all of them are known.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

NAME: Final = "⟨name⟩"
"""Stands for the function's own name in its text."""
CLASSES: Final = "⟨classes⟩"
"""Stands for the type of the function's argument: the classes of all messages that it serves."""

_SPAN_MIN: Final = 3
"""So many consecutive versions are named as a span: `v0_to_v2`."""


class Purpose(NamedTuple):
    """What a function is for."""

    message: str
    """In snake case: `offset_commit_value`."""
    version: int
    layout: str
    """Release whose layout it is, in snake case (`3_7`); empty for the current one."""
    class_name: str
    """Generated class of the message, or of its part."""
    part: str = ""
    """In snake case, which part of the message; empty for the whole."""


class Functions:
    """Collects functions and keeps equal ones once."""

    def __init__(self) -> None:
        self._purposes: dict[str, list[Purpose]] = {}
        """Text -> what the function of that text is for."""
        self._common_names: dict[str, str] = {}
        """Text -> its name if it serves several messages."""

    def add(self, purpose: Purpose, text: str, common_name: str = "") -> str:
        """Take a function, whose text has `NAME` for its name; returns the mark to call it by.

        `common_name` is for one that turns out to serve several messages. Raises ValueError where it is then empty.
        """
        purposes = self._purposes.setdefault(text, [])
        purposes.append(purpose)
        self._common_names[text] = common_name
        if len({known.message for known in purposes}) > 1 and not common_name:
            raise ValueError(f"several messages share a function without a common name: {purposes}")
        return f"⟨{list(self._purposes).index(text)}⟩"

    def sources(self) -> Iterator[str]:
        """Text of each function, in the order of their first purposes."""
        for (text, purposes), name in zip(self._purposes.items(), self._names(), strict=True):
            classes = dict.fromkeys(purpose.class_name for purpose in purposes)
            own = text.replace(NAME, name).replace(CLASSES, " | ".join(classes))
            yield self.with_names(own)

    def with_names(self, text: str) -> str:
        """The text with names in place of marks."""
        for index, name in enumerate(self._names()):
            text = text.replace(f"⟨{index}⟩", name)
        return text

    def _names(self) -> list[str]:
        """Name of each function. Raises ValueError where two would have the same."""
        names = [
            _name(purposes)
            if len({purpose.message for purpose in purposes}) == 1
            else self._common_names[text]
            for text, purposes in self._purposes.items()
        ]
        if len(set(names)) != len(names):
            raise ValueError(f"two functions have one name among {sorted(names)}")
        return names


def _name(purposes: Sequence[Purpose]) -> str:
    """`offset_commit_value_v0_v2`, `_group_metadata_value_v1_v2_member_array`."""
    first = purposes[0]
    versions = [purpose.version for purpose in purposes]
    is_span = len(versions) >= _SPAN_MIN and versions == list(range(versions[0], versions[-1] + 1))
    if is_span and not any(purpose.layout for purpose in purposes):
        suffix = f"v{versions[0]}_to_v{versions[-1]}"
    else:
        suffix = "_".join(
            f"v{purpose.version}" + (f"_of_{purpose.layout}" if purpose.layout else "")
            for purpose in purposes
        )
    return f"_{first.message}_{suffix}_{first.part}" if first.part else f"{first.message}_{suffix}"
