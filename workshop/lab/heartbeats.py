"""Members of groups whose coordinator assigns: one heartbeat is one request."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias

from workshop.lab.connection import Connection
from workshop.lab.world import answered

LEAVE: Final = -1
LEAVE_FOR_A_WHILE: Final = -2
REBALANCE_TIMEOUT_MS: Final = 60_000


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _topology(text: str) -> dict[str, Any]:
    """Source topics, and after a colon the changelog of the one store."""
    sources, _, changelog = text.partition(":")
    changelogs = [{"name": name} for name in _names(changelog)]
    subtopology = {
        "subtopology_id": "0",
        "source_topics": _names(sources),
        "state_changelog_topics": changelogs,
    }
    return {"epoch": 0, "subtopologies": [subtopology]}


def _offsets(text: str) -> list[dict[str, Any]]:
    pairs = (task.split(":") for task in _names(text))
    return [
        {"subtopology_id": "0", "partition": int(number), "offset": int(offset)}
        for number, offset in pairs
    ]


def _tags(text: str) -> list[dict[str, str]]:
    return [dict(zip(("key", "value"), tag.split(":"), strict=True)) for tag in _names(text)]


Options: TypeAlias = Mapping[str, tuple[str, Callable[[str], Any]]]
"""Word in a story -> field of the heartbeat, and how its value is read."""

_OF_ALL: Final[Options] = {"rack": ("rack_id", str)}
_OF_STATIC: Final[Options] = {
    "instance": ("instance_id", str),
    "timeout": ("rebalance_timeout_ms", int),
}


class HeartbeatMember:
    """One member. It obeys: it owns what the coordinator assigned to it in its last answer."""

    api = "ConsumerGroupHeartbeat"
    options: ClassVar[Options] = {
        **_OF_ALL,
        **_OF_STATIC,
        "topics": ("subscribed_topic_names", _names),
        "regex": ("subscribed_topic_regex", str),
        "assignor": ("server_assignor", str),
    }
    first: ClassVar[Mapping[str, Any]] = {
        "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
        "subscribed_topic_names": [],
        "topic_partitions": [],
    }
    """Fields of a first heartbeat that the story does not give."""
    owned: tuple[str, ...] = ("topic_partitions",)
    """Fields that report what the member owns."""

    def __init__(
        self, connection: Connection, group_id: str, member_id: str, instance_id: str | None
    ) -> None:
        self.connection = connection
        self.group_id = group_id
        self.member_id = member_id
        self.instance_id = instance_id
        self.epoch = 0
        self.alive = True
        self.owns: dict[str, Any] = {name: [] for name in self.owned}

    def join(self, options: Mapping[str, str]) -> None:
        """The first heartbeat."""
        self.epoch = 0
        self._beat({**self.first, **self._fields(options)})

    def beat(self, options: Mapping[str, str]) -> None:
        """Another heartbeat, with what changes; it says what the member owns."""
        self._beat({**self.owns, **self._fields(options)})

    def stall(self) -> None:
        """A heartbeat that does not say that anything was given up."""
        self._beat({})

    def go(self, epoch: int) -> None:
        """The last heartbeat."""
        fields: dict[str, Any] = {"instance_id": self.instance_id} if self.instance_id else {}
        self._ask(epoch, fields)
        self.alive = False

    def _fields(self, options: Mapping[str, str]) -> dict[str, Any]:
        read = {name: self.options[name] for name in options}
        return {name: as_read(options[option]) for option, (name, as_read) in read.items()}

    def _beat(self, fields: dict[str, Any]) -> None:
        if self.instance_id:
            fields["instance_id"] = self.instance_id
        answer = self._ask(self.epoch, fields)
        self.epoch = answer["member_epoch"]
        self._take(answer)

    def _take(self, answer: dict[str, Any]) -> None:
        assignment = answer["assignment"]
        if assignment is not None:
            self.owns = {"topic_partitions": assignment["topic_partitions"]}

    def _ask(self, epoch: int, fields: dict[str, Any]) -> dict[str, Any]:
        return answered(
            self.connection,
            self.api,
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            **fields,
        )


class ShareMember(HeartbeatMember):
    """A member of a share group (KIP-932)."""

    api = "ShareGroupHeartbeat"
    options: ClassVar[Options] = {**_OF_ALL, "topics": ("subscribed_topic_names", _names)}
    first: ClassVar[Mapping[str, Any]] = {"subscribed_topic_names": []}
    owned = ()

    def _take(self, answer: dict[str, Any]) -> None:
        """It gives up nothing, so it need not report what it owns."""


class StreamsMember(HeartbeatMember):
    """A member of a streams group (KIP-1071): one subtopology, whose changelog, if any, a story creates."""

    api = "StreamsGroupHeartbeat"
    options: ClassVar[Options] = {
        **_OF_ALL,
        **_OF_STATIC,
        "topics": ("topology", _topology),
        "process": ("process_id", str),
        "tags": ("client_tags", _tags),
        "restored": ("task_offsets", _offsets),
        "ends": ("task_end_offsets", _offsets),
    }
    owned = ("active_tasks", "standby_tasks", "warmup_tasks")
    first: ClassVar[Mapping[str, Any]] = {
        "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
        "process_id": "process",
        "client_tags": [],
        **dict.fromkeys(owned, ()),
    }

    def _take(self, answer: dict[str, Any]) -> None:
        for name in self.owned:
            if answer[name] is not None:
                self.owns[name] = answer[name]


MEMBERS: Final[Mapping[str, type[HeartbeatMember]]] = {
    "consumer": HeartbeatMember,
    "share": ShareMember,
    "streams": StreamsMember,
}
