"""What a live cluster says about itself, asked with kafka-python: its id, its topics, the ends of partitions.

Spark's connector says none of that, and is silent if it fails to see the topic; so its answers are checked against
these.
"""

import logging
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.errors import BadRequest
from rebalance_audit.kafka_options import BadOption, hide, resolved
from rebalance_audit.live_cluster.kafka_login import login
from rebalance_audit.moments import NO_TIMESTAMP_MS
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, SourceNotReadable
from rebalance_audit.wire.topic_names import (
    ZERO_TOPIC_ID,
    TopicNames,
    TopicNameSource,
    topic_id_text,
)

if TYPE_CHECKING:
    from kafka import KafkaAdminClient

BROKER: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d{1,5}")
PARTITIONS_ASKED: Final = 1_000
"""In one request; each takes some 40 bytes of it."""
CLIENT_ID: Final = "rebalance-audit"
FORCED: Final[Mapping[str, str]] = {
    # Group records are never part of a transaction, but read_committed stops all reading at the first open one, and
    # leaves out aborted offset commits, which belong to the history.
    "isolation.level": "read_uncommitted",
}
"""Options that the user cannot choose."""


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """How to read a live cluster: `[source.kafka]` of the configuration."""

    start: str = "earliest"
    start_ms: int | None = None
    """Begin with the first record of this time or later, epoch milliseconds; takes precedence over `start`."""
    max_offsets_per_trigger: int = 0
    trigger_seconds: float = 5.0
    min_partitions: int = 0
    group_id_prefix: str = "rebalance-audit"
    timeout_ms: int = 30_000
    sampled_partitions_max: int = 0
    """Sample end offsets of at most so many topic partitions; 0 for none."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of Kafka's client, as given: they may refer to variables and files."""
    admin: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of kafka-python."""


@dataclass(frozen=True, slots=True)
class PartitionEnds:
    """One partition of `__consumer_offsets` on the cluster."""

    begin: int
    """Start of the log: earlier offsets are gone."""
    end: int
    """Offset after the last record, also of an open transaction."""
    stable_end: int
    """Offset of the first record of an open transaction; `end` if none is open."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster at one moment."""

    cluster_id: str
    topic_id: str | None
    """Topic id of `__consumer_offsets`, as Kafka prints it; None for a cluster without topic ids (before 2.8)."""
    partitions: Mapping[int, PartitionEnds]
    leaders: Mapping[int, int]
    """Partition -> broker id of its leader, the coordinator of its groups; -1 without one."""


class KafkaCluster:
    """A cluster, by its bootstrap servers. It connects only when something is asked."""

    def __init__(self, servers: str, settings: KafkaSettings) -> None:
        """`servers` is `HOST:PORT,…`. Raises BadRequest."""
        self.servers = [server.strip() for server in servers.split(",")]
        for server in self.servers:
            if not BROKER.fullmatch(server):
                raise BadRequest(
                    "kafka: expects HOST:PORT or [IPV6]:PORT, several separated by commas."
                )
        self.settings = settings
        try:
            self.options = {**resolved(settings.options), **FORCED}
            admin = resolved(settings.admin)
        except BadOption as error:
            raise BadRequest(str(error)) from None
        refused = next(
            (name for name, value in FORCED.items() if settings.options.get(name, value) != value),
            None,
        )
        if refused is not None:
            raise BadRequest(
                f"Kafka option {refused} must be {FORCED[refused]}: see docs/live-kafka.md."
            )
        self._admin_options = {**self._login_beside(admin), **admin}
        self._has_answered = False

    def view(self) -> ClusterView:
        """The cluster's id, and the ends of the log's partitions. Raises SourceNotReadable."""
        from kafka.admin import OffsetSpec  # noqa: PLC0415 - an extra, and only live clusters need it
        from kafka.protocol.consumer.offsets import IsolationLevel  # noqa: PLC0415

        with self._asking() as admin:
            cluster_id = admin.describe_cluster()["cluster_id"]
            (topic,) = admin.describe_topics([OFFSETS_TOPIC])
            topic_id = _topic_id(topic)
            numbers = sorted(each["partition_index"] for each in topic["partitions"])
            if not numbers:
                raise SourceNotReadable(
                    f"{self} has no topic {OFFSETS_TOPIC}, or hides it: no group has committed yet, or the user lacks"
                    " Describe on it."
                )

            def offsets(wanted: int, isolation: int) -> dict[int, int]:
                return self._offsets(admin, numbers, wanted, isolation)

            begins = offsets(OffsetSpec.EARLIEST, IsolationLevel.READ_UNCOMMITTED)
            ends = offsets(OffsetSpec.LATEST, IsolationLevel.READ_UNCOMMITTED)
            # Asked last: an offset below the end as it was before means a transaction, not a record that came since.
            stable_ends = offsets(OffsetSpec.LATEST, IsolationLevel.READ_COMMITTED)
        return ClusterView(
            cluster_id,
            None if topic_id is None else topic_id_text(topic_id),
            {
                number: PartitionEnds(
                    begins[number], ends[number], min(ends[number], stable_ends[number])
                )
                for number in numbers
            },
            {each["partition_index"]: each["leader_id"] for each in topic["partitions"]},
        )

    def offsets_at(self, moment_ms: int, view: ClusterView) -> dict[int, int]:
        """Partition -> offset of its first record of that moment (epoch milliseconds) or later; its end without one.

        Raises SourceNotReadable.
        """
        from kafka.protocol.consumer.offsets import IsolationLevel  # noqa: PLC0415 - as above

        with self._asking() as admin:
            found = self._offsets(
                admin, list(view.partitions), moment_ms, IsolationLevel.READ_UNCOMMITTED
            )
        return {
            number: found[number] if found[number] >= 0 else ends.end
            for number, ends in view.partitions.items()
        }

    def end_offsets(
        self, partitions: Collection[tuple[str, int]], now_ms: Callable[[], int]
    ) -> EndOffsets:
        """A sample of each (topic, partition) that exists and may be described, as it is now.

        One ListOffsets request for each end, broker and PARTITIONS_ASKED partitions. `now_ms` (epoch milliseconds) is
        asked when an answer has arrived. Raises SourceNotReadable.
        """
        from kafka import TopicPartition  # noqa: PLC0415 - as above
        from kafka.admin import OffsetSpec  # noqa: PLC0415
        from kafka.errors import UnsupportedVersionError  # noqa: PLC0415

        samples: dict[tuple[str, int], list[EndOffset]] = {}
        with self._asking() as admin:
            wanted = frozenset(partitions)
            there = sorted(
                (topic["name"], each["partition_index"])
                for topic in admin.describe_topics(sorted({topic for topic, _ in wanted}))
                if not topic["error_code"]
                for each in topic["partitions"]
                # A partition without a leader cannot answer.
                if not each["error_code"] and (topic["name"], each["partition_index"]) in wanted
            )

            def asked(spec: OffsetSpec) -> Mapping[TopicPartition, Any]:
                found: Mapping[TopicPartition, Any] = admin.list_partition_offsets(
                    dict.fromkeys(places, spec), timeout_ms=self.settings.timeout_ms
                )
                return found

            for first in range(0, len(there), PARTITIONS_ASKED):
                places = [TopicPartition(*each) for each in there[first : first + PARTITIONS_ASKED]]
                begins = asked(OffsetSpec.EARLIEST)
                latest: Mapping[TopicPartition, Any] = {}
                with suppress(UnsupportedVersionError):  # brokers before 3.0
                    latest = asked(OffsetSpec.MAX_TIMESTAMP)
                # Asked last: a sample counts from the moment at which this answer has arrived.
                ends, at_ms = asked(OffsetSpec.LATEST), now_ms()
                for place in places:
                    newest_ms = latest[place].timestamp if place in latest else NO_TIMESTAMP_MS
                    sample = EndOffset(
                        at_ms,
                        begins[place].offset,
                        ends[place].offset,
                        None if newest_ms == NO_TIMESTAMP_MS else newest_ms,
                    )
                    samples[place.topic, place.partition] = [sample]
        return EndOffsets(samples)

    def topic_names(self) -> TopicNames:
        """Names of all topics that the user may describe. Raises SourceNotReadable."""
        names = TopicNames()
        with self._asking() as admin:
            for topic in admin.describe_topics():
                topic_id = _topic_id(topic)
                if topic_id is not None:
                    names.add(topic_id, topic["name"], TopicNameSource.CLUSTER)
        return names

    def group_states(self) -> dict[str, str]:
        """Group id -> state by its coordinator, as Kafka names it, of all groups that the user may describe.

        One ListGroups request to each broker (KIP-518; brokers before 2.6 give no state). Raises SourceNotReadable.
        """
        with self._asking() as admin:
            found = admin.list_groups()
        return {each["group_id"]: each["group_state"] for each in found if each["group_state"]}

    @property
    def login(self) -> Mapping[str, Any]:
        """How kafka-python logs in, as arguments of its clients."""
        return self._admin_options

    def hide(self, text: str) -> str:
        """The text without secrets from the options."""
        return hide(text, self.options)

    def __str__(self) -> str:
        return f"Kafka at {','.join(self.servers)}"

    def _login_beside(self, admin: Mapping[str, str]) -> dict[str, Any]:
        """What the client's options say about security; kafka-python's own options win. Raises BadRequest."""
        try:
            found = login(self.options)
        except BadRequest:
            if not admin:
                raise
            return {"security_protocol": self.options.get("security.protocol", "PLAINTEXT")}
        if any(name.startswith("ssl_") for name in admin):
            # A context would take precedence over files.
            found.pop("ssl_context", None)
        return found

    def _offsets(
        self, admin: "KafkaAdminClient", numbers: Iterable[int], wanted: int, isolation: int
    ) -> dict[int, int]:
        """Partition -> offset that a ListOffsets request gives for a time, or for an end of the log."""
        from kafka import TopicPartition  # noqa: PLC0415 - as above

        asked = {TopicPartition(OFFSETS_TOPIC, number): wanted for number in numbers}
        found = admin.list_partition_offsets(
            asked, isolation_level=isolation, timeout_ms=self.settings.timeout_ms
        )
        return {place.partition: each.offset for place, each in found.items()}

    @contextmanager
    def _asking(self) -> Iterator["KafkaAdminClient"]:
        """A connected client. Raises SourceNotReadable, in one sentence, for what it or the cluster cannot do."""
        from kafka import KafkaAdminClient  # noqa: PLC0415 - an extra
        from kafka.errors import (  # noqa: PLC0415
            KafkaConnectionError,
            KafkaError,
            KafkaTimeoutError,
        )

        connected = False
        # It logs each attempt that fails; we report the last one.
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        try:
            admin = KafkaAdminClient(
                bootstrap_servers=self.servers,
                client_id=self.options.get("client.id", CLIENT_ID),
                request_timeout_ms=self.settings.timeout_ms,
                bootstrap_timeout_ms=self.settings.timeout_ms,
                **self._admin_options,
            )
            connected = True
            try:
                yield admin
                self._has_answered = True
            finally:
                with suppress(KafkaError, OSError):
                    admin.close()
        except (KafkaTimeoutError, KafkaConnectionError):
            raise SourceNotReadable(self._unreachable(connected=connected)) from None
        except (KafkaError, OSError, AssertionError, TypeError) as error:
            raise SourceNotReadable(
                f"{self} cannot be queried: {self.hide(_sentence(error))}."
            ) from None

    def _unreachable(self, *, connected: bool) -> str:
        """What to check. While it connects the client says only that time ran out, even if the password is wrong."""
        if self._has_answered:
            return (
                f"{self} answered before and cannot be reached any more: check that its brokers are running, and that"
                " this machine can still connect to them."
            )
        if connected:
            return (
                f"A broker of {self} cannot be reached: check that all brokers are running, and that this machine can"
                " connect to the addresses in their advertised.listeners."
            )
        return (
            f"{self} cannot be reached: check that host and port are right, that a broker is running there, that this"
            " machine can connect to it, and that security.protocol, user and password are what its listener expects"
            " (docs/live-kafka.md)."
        )


def _topic_id(topic: Mapping[str, Any]) -> bytes | None:
    """The topic's id; None if the cluster has no topic ids (before 2.8)."""
    found = topic.get("topic_id")
    topic_id = uuid.UUID(str(found)).bytes if found else ZERO_TOPIC_ID
    return None if topic_id == ZERO_TOPIC_ID else topic_id


def _sentence(error: Exception) -> str:
    text = str(error).partition("\n")[0].rstrip(".")
    return text if text.startswith(type(error).__name__) else f"{type(error).__name__}: {text}"
