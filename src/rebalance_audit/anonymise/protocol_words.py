"""Words that are Kafka's own and stay when a log is anonymised: a closed list."""

from typing import Final

TOPICS: Final = frozenset(
    {
        "__cluster_metadata",
        "__consumer_offsets",
        "__share_group_state",
        "__transaction_state",
    }
)
"""`org.apache.kafka.common.internals.Topic`."""

ASSIGNORS_AND_PROTOCOLS: Final = frozenset(
    {
        # Protocol types of classic groups.
        "consumer",
        "connect",
        "sr",
        # Assignors of the Java client and of librdkafka, the first two also on the broker.
        "range",
        "uniform",
        "roundrobin",
        "sticky",
        "cooperative-sticky",
        # Share groups, Kafka Streams.
        "simple",
        "stream",
        # Connect: `ConnectProtocolCompatibility`. Schema registries: `SchemaRegistryProtocol`.
        "default",
        "compatible",
        "sessioned",
        "v0",
    }
)

SETTINGS: Final = frozenset(
    {
        # Streams groups: what the last assignment was made with.
        "num.standby.replicas",
        "num.warmup.replicas",
        "acceptable.recovery.lag",
        "max.warmup.replicas",
        "probing.rebalance.interval.ms",
        "task.assignor",
        # Internal topics of Kafka Streams.
        "cleanup.policy",
        "compact",
        "delete",
        "compact,delete",
        "delete,compact",
        "message.timestamp.type",
        "CreateTime",
        "LogAppendTime",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.ms",
        "segment.index.bytes",
        "min.insync.replicas",
        "min.compaction.lag.ms",
        "max.compaction.lag.ms",
        "delete.retention.ms",
        "-1",
        "true",
        "false",
    }
)
"""Keys of settings and their values, numbers aside."""
