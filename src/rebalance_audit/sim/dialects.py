"""What a release does to the bytes of a record and to the batches that hold it."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.coordinator.handling import Dialect, RecordDraft
from rebalance_audit.wire.messages import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
    GroupMetadataValue,
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
"""The one version that holds an expiry."""


class LogRules(NamedTuple):
    """How one release writes."""

    commit_version: int
    """Value version of offset commits without an expiry."""
    linger_ms: int
    """How long a batch stays open for further writes. Adaptive since 4.2: until no more events wait, so the same ms."""


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


def encode_draft(draft: RecordDraft, dialect: Dialect) -> tuple[bytes, bytes | None]:
    """Key and value as the release writes them."""
    key = encode_key(draft.key)
    if draft.value is None:
        return key, None
    is_early = dialect is Dialect.R3_7 and isinstance(draft.value, _EARLY_VALUES)
    layout = _EARLY_LAYOUT if is_early else CURRENT_LAYOUT
    return key, encode_value(draft.value, value_version_of(draft, dialect), layout)
