"""Sentences for agents, in which each name from the log stands between marks."""

from typing import Final

from rebalance_audit.report.names import MemberNames
from rebalance_audit.sentences.sentence import MemberId, Name, Sentence, Stored
from rebalance_audit.visible import shortened, visible

OPENING: Final = "«"
CLOSING: Final = "»"
NAME_MAX: Final = 80
"""Characters of a name in an answer that must stay small; `query` has whole names."""
STORED_MAX: Final = 300

_WITHOUT_MARKS: Final = str.maketrans({OPENING: "<", CLOSING: ">"})


def marked_name(name: str, at_most: int = NAME_MAX) -> str:
    """`«checkout-7»`: a name can neither end its marks nor begin others."""
    # Cut twice: names have up to 32,767 characters, and each becomes up to ten where it is invisible.
    short = shortened(name, 2 * at_most).translate(_WITHOUT_MARKS)
    return f"{OPENING}{shortened(visible(short), at_most)}{CLOSING}"


def without_marks(name: str) -> str:
    """A name as an agent gives it back, which may have copied the marks."""
    return name.removeprefix(OPENING).removesuffix(CLOSING)


def marked_sentence(group_id: str, sentence: Sentence, names: MemberNames) -> str:
    """The sentence with its members by their names; what a client or a broker wrote is marked as well."""
    return "".join(_part(group_id, part, names) for part in sentence.parts)


def _part(group_id: str, part: str, names: MemberNames) -> str:
    match part:
        case MemberId():
            return marked_name(names.whole(group_id, part))
        case Name():
            return marked_name(part)
        case Stored():
            return marked_name(part, STORED_MAX)
        case _:
            return visible(part)
