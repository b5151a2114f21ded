"""Short names for members, under which an operator knows them, instead of ids of sixty characters."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import MemberId, Name, Sentence, Stored
from rebalance_audit.visible import TEXT_MAX, shortened

_TAIL: Final = 4
"""Characters at the end of the member id that distinguish members with the same client id."""


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

    def whole(self, group_id: str, member_id: str | None) -> str:
        """The member's name; its id where the log does not say who it was."""
        if member_id is None:
            return words.NOTHING
        return self._names.get((group_id, member_id), member_id)

    def of(self, group_id: str, member_id: str | None) -> str:
        """The member's name for people: cut where it is very long."""
        return shortened(self.whole(group_id, member_id))

    def in_sentence(self, group_id: str, sentence: str) -> str:
        """A sentence for people: its members by their names, long names cut; any other text stays as it is."""
        parts = sentence.parts if isinstance(sentence, Sentence) else (Stored(sentence),)
        return "".join(self._shown(group_id, part) for part in parts)

    def _shown(self, group_id: str, part: str) -> str:
        match part:
            case MemberId():
                return self.of(group_id, part)
            case Name():
                return shortened(part)
            case Stored():
                return shortened(part, TEXT_MAX)
            case _:
                return part
