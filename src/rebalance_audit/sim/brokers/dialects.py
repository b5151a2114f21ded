"""How a release writes the bytes of records and the batches that hold them."""

import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias, cast

from rebalance_audit.coordinator.handling import Dialect, RecordDraft
from rebalance_audit.wire.generated.messages import (
    ZERO_UUID,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from rebalance_audit.wire.records import encode_key, encode_value
from rebalance_audit.wire.schema import CURRENT_LAYOUT

_EARLY_LAYOUT: Final = "3.7"
_EARLY_VALUES: Final = (
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupCurrentMemberAssignmentValue,
)
_GROUP_METADATA_VERSION: Final = 3
_EXPIRING_COMMIT_VERSION: Final = 1
"""The only value version of offset commits that holds an expiry."""


TOPIC_ID_FROM_VERSION: Final = 4
"""Record types of offset commits."""


class LogRules(NamedTuple):
    """How one release writes."""

    commit_version: int
    """Value version of offset commits without an expiry."""
    linger_ms: int
    """How long a batch stays open for further writes. Since 4.2 adaptive: until no more events wait, so the same ms."""


LOG_RULES: Final[Mapping[Dialect, LogRules]] = {
    Dialect.R3_7: LogRules(3, 0),
    Dialect.R3_9: LogRules(3, 10),
    Dialect.R4_0: LogRules(3, 5),
    Dialect.R4_1: LogRules(4, 5),
    Dialect.R4_3: LogRules(4, 0),
    Dialect.R4_4: LogRules(4, 0),
}


def value_version_of(draft: RecordDraft, dialect: Dialect) -> int:
    """The value version that the release writes."""
    value = draft.value
    if isinstance(value, OffsetCommitValue):
        if value.expire_timestamp != -1:
            return _EXPIRING_COMMIT_VERSION
        return LOG_RULES[dialect].commit_version
    return _GROUP_METADATA_VERSION if isinstance(value, GroupMetadataValue) else 0


_encode_key: Final = lru_cache(1 << 14, typed=True)(encode_key)
"""Caches keys, since they repeat with every commit. Typed, since keys of different types can have equal fields."""
_COMMIT_HEAD_3: Final = struct.Struct(">hqih").pack
_COMMIT_HEAD_4: Final = struct.Struct(">hqiB").pack
_COMMIT_TIME: Final = struct.Struct(">q").pack
_SHORT_TEXT: Final = 126
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"
_NO_TAGS: Final = b"\x00"


def _encode_commit(value: OffsetCommitValue, value_version: int) -> bytes | None:
    """Encode an offset commit directly, since most records are commits; None for an unusual one."""
    committed, text, commit_ms, leader_epoch, _, topic_id = value
    metadata = text.encode()
    size = len(metadata)
    if size > _SHORT_TEXT:
        return None
    if value_version == 4:
        start = _COMMIT_HEAD_4(4, committed, leader_epoch, size + 1)
        tags = _NO_TAGS if topic_id == ZERO_UUID else _TOPIC_ID_TAG + topic_id
        return start + metadata + _COMMIT_TIME(commit_ms) + tags
    if value_version == 3 and topic_id == ZERO_UUID:
        start = _COMMIT_HEAD_3(3, committed, leader_epoch, size)
        return start + metadata + _COMMIT_TIME(commit_ms)
    return None


Commit: TypeAlias = tuple[OffsetCommitKey, OffsetCommitValue]


def plain_commits(drafts: Sequence[RecordDraft], dialect: Dialect) -> Sequence[Commit] | None:
    """The drafts as offset commits with exactly their content; None where one of them is something else."""
    if not isinstance(drafts[0].key, OffsetCommitKey):
        return None
    version = LOG_RULES[dialect].commit_version
    holds_id = version >= TOPIC_ID_FROM_VERSION
    for key, value in drafts:
        if (
            not isinstance(key, OffsetCommitKey)
            or not isinstance(value, OffsetCommitValue)
            or value.expire_timestamp != -1
            or (value.topic_id != ZERO_UUID and not holds_id)
        ):
            return None
    return cast("Sequence[Commit]", drafts)


def encode_commits(commits: Sequence[Commit], dialect: Dialect) -> list[tuple[bytes, bytes]]:
    """Keys and values of plain commits, the same bytes as `encode_draft` writes."""
    version = LOG_RULES[dialect].commit_version
    encoded: list[tuple[bytes, bytes]] = []
    for key, value in commits:
        data = _encode_commit(value, version)
        if data is None:
            data = encode_value(value, version, CURRENT_LAYOUT)
        encoded.append((_encode_key(key), data))
    return encoded


def encode_draft(draft: RecordDraft, dialect: Dialect) -> tuple[bytes, bytes | None]:
    """Key and value as the release writes them."""
    key = _encode_key(draft.key)
    if draft.value is None:
        return key, None
    value_version = value_version_of(draft, dialect)
    if isinstance(draft.value, OffsetCommitValue):
        encoded = _encode_commit(draft.value, value_version)
        if encoded is not None:
            return key, encoded
    is_early = dialect is Dialect.R3_7 and isinstance(draft.value, _EARLY_VALUES)
    layout = _EARLY_LAYOUT if is_early else CURRENT_LAYOUT
    return key, encode_value(draft.value, value_version, layout)
