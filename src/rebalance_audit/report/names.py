"""Short names for members, under which an operator knows them, instead of ids of sixty characters."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rebalance_audit.report import words
from rebalance_audit.report.sentence import MemberId, Name, Sentence, Stored
from rebalance_audit.visible import TEXT_MAX, shortened

_TAIL: Final = 4
"""Characters at the end of the member id that distinguish members with the same client id."""

_GENERATED: Final = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # java.util.UUID#toString, of classic brokers after a client's id
    r"|(?<![\w+/-])(?=\S{0,21}[0-9])(?=\S{0,21}[a-z])(?=\S{0,21}[A-Z])"
    r"[A-Za-z0-9+/_-]{21}[AQgw](?![\w+/-])"  # org.apache.kafka.common.Uuid#toString, since KIP-848
)
"""The random part of a member id, which ends it. No word of a sentence has its form."""
_GOES_ON: Final = re.compile(r"[\w+/-]")
"""What makes an id part of a longer one."""


class MemberNames:
    """Names of members: the instance id (a static member keeps it when its member id changes), else the client id.

    Client ids that several members of a group share are followed by the end of the member id.
    """

    def __init__(self, member_rows: Iterable[Mapping[str, Any]]) -> None:
        """Takes rows of gold.members."""
        dynamic: dict[str, dict[str, str]] = defaultdict(dict)
        self._names: dict[tuple[str, str], str] = {}
        for row in member_rows:
            group_id, member_id = row["group_id"], row["member_id"]
            if row["instance_id"]:
                self._names[group_id, member_id] = row["instance_id"]
            elif row["client_id"]:
                dynamic[group_id][member_id] = row["client_id"]
        for group_id, client_ids in dynamic.items():
            used = Counter(client_ids.values())
            for member_id, client_id in client_ids.items():
                tail = f" …{member_id[-_TAIL:]}" if used[client_id] > 1 else ""
                self._names[group_id, member_id] = client_id + tail
        self._generated: dict[tuple[str, str], list[str]] = defaultdict(list)
        """Group and random part of an id -> member ids that end in it."""
        for group_id, member_id in self._names:
            for found in _GENERATED.finditer(member_id):
                if found.end() == len(member_id):
                    self._generated[group_id, found[0]].append(member_id)

    def whole(self, group_id: str, member_id: str | None) -> str:
        """The member's name; its id where the log does not say who it was."""
        if member_id is None:
            return words.NOTHING
        return self._names.get((group_id, member_id), member_id)

    def of(self, group_id: str, member_id: str | None) -> str:
        """The same for people, cut where it is very long."""
        return shortened(self.whole(group_id, member_id))

    def in_sentence(self, group_id: str, sentence: str) -> str:
        """A sentence for people: its members by their names, long names cut; any other text is one that is stored."""
        parts = sentence.parts if isinstance(sentence, Sentence) else (Stored(sentence),)
        return "".join(self._shown(group_id, part) for part in parts)

    def _shown(self, group_id: str, part: str) -> str:
        match part:
            case MemberId():
                return self.of(group_id, part)
            case Name():
                return shortened(part)
            case Stored():
                return shortened(self._abridged(group_id, part), TEXT_MAX)
            case _:
                return part

    def _abridged(self, group_id: str, text: str) -> str:
        """A stored text with names for the ids that a broker or a client library generated.

        An id that somebody chose stays: it may be any word, and the text does not say which of its words is an id.
        """
        parts, done = [], 0
        for found in _GENERATED.finditer(text):
            for member_id in self._generated.get((group_id, found[0]), ()):
                begin = found.end() - len(member_id)
                if (
                    begin >= done
                    and text.startswith(member_id, begin)
                    and _stands_alone(text, begin, found.end())
                ):
                    parts += [text[done:begin], self.of(group_id, member_id)]
                    done = found.end()
                    break
        return "".join((*parts, text[done:]))


def _stands_alone(text: str, begin: int, end: int) -> bool:
    return not ((begin > 0 and _GOES_ON.match(text, begin - 1)) or _GOES_ON.match(text, end))
