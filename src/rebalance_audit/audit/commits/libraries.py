"""When client libraries commit, and how their records give them away."""

import re
from enum import Enum
from typing import Final, NamedTuple

from rebalance_audit.wire.consumer_protocol import Subscription


class ClientLibrary(Enum):
    """Client libraries that records can tell apart."""

    JAVA = "Java client"
    LIBRDKAFKA = "librdkafka"
    KAFKA_PYTHON = "kafka-python"
    UNKNOWN = "unknown library"


class CommitHabit(NamedTuple):
    """When a library commits with `enable.auto.commit`, its default."""

    commits_unchanged: bool
    """On every interval for all partitions with a position, also where nothing was consumed since."""
    on_close: bool
    """Once more on close, before it leaves."""
    source: str
    """Where its code says so."""


HABITS: Final = {
    ClientLibrary.JAVA: CommitHabit(
        commits_unchanged=True,
        on_close=True,
        source=(
            "ConsumerCoordinator.maybeAutoCommitOffsetsAsync, .onJoinPrepare and .close (classic); "
            "CommitRequestManager.maybeAutoCommitAsync and .maybeAutoCommitSyncBeforeRevocation, "
            "AsyncKafkaConsumer.close: SubscriptionState.allConsumed"
        ),
    ),
    ClientLibrary.LIBRDKAFKA: CommitHabit(
        commits_unchanged=False,
        on_close=True,
        source=(
            "rdkafka_cgrp.c: rd_kafka_cgrp_assigned_offsets_commit commits stored offsets that are newer than the "
            "committed ones, on the interval, on revocation and on close"
        ),
    ),
    ClientLibrary.KAFKA_PYTHON: CommitHabit(
        commits_unchanged=True,
        on_close=True,
        source=(
            "kafka/coordinator/consumer.py: _maybe_auto_commit_offsets_async, _on_join_prepare and close commit "
            "SubscriptionState.all_consumed_offsets"
        ),
    ),
    ClientLibrary.UNKNOWN: CommitHabit(
        commits_unchanged=False, on_close=False, source="nothing is known"
    ),
}
"""What holds with auto commit. Manual commits follow the application: nothing but their own rhythm says when."""

_JAVA_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_STANDARD_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{22}")
_PYTHON_VERSION: Final = 0
_NEWEST_COMMON_VERSION: Final = 3


def library_of_subscription(said: Subscription | None) -> ClientLibrary:
    """The library of a classic member, by how it writes what it leaves out.

    The Java client writes null for no user data and no rack (ConsumerProtocol.serializeSubscription), librdkafka empty
    ones (rd_kafka_consumer_protocol_member_metadata_new); kafka-python writes version 0.
    """
    if said is None:
        return ClientLibrary.UNKNOWN
    if said.protocol_version == _PYTHON_VERSION:
        return ClientLibrary.KAFKA_PYTHON
    if said.protocol_version == _NEWEST_COMMON_VERSION and said.rack_id == "":
        return ClientLibrary.LIBRDKAFKA
    if said.protocol_version >= _NEWEST_COMMON_VERSION and said.rack_id is None:
        return ClientLibrary.JAVA
    return ClientLibrary.UNKNOWN


def library_of_member_id(member_id: str) -> ClientLibrary:
    """The library of a consumer-protocol member by the alphabet of the id that it made; most ids fit both.

    Java: `Uuid.toString`, url-safe base64. librdkafka: `rd_kafka_Uuid_base64str`, standard base64. An id that the
    coordinator made, for a client before KIP-1082, looks like one of Java.
    """
    java = _JAVA_ID.fullmatch(member_id) is not None
    standard = _STANDARD_BASE64.fullmatch(member_id) is not None
    if java and not standard:
        return ClientLibrary.JAVA
    if standard and not java:
        return ClientLibrary.LIBRDKAFKA
    return ClientLibrary.UNKNOWN
