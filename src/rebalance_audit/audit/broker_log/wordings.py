"""Kafka's lines about groups, by release: the one table from a coordinator's words to facts.

In a pattern, {name} stands for a field of `BrokerFact`, {word} for one word and {…} for anything. SCOPED rows come
after `[GroupId g]` (in some releases `[Group g]` or `[GroupId=g]`, with a streams member `[GroupId g][MemberId m]`);
the others name the group themselves or none. Case does not matter, nor what follows a pattern. A row without a kind
tells nothing that the records do not hold, or nothing about a group: its lines are known, and make no fact.

The releases are those whose source has the wording, from 2.0 on; the old and the new coordinator of 3.6 to 3.9
(`group.coordinator.new.enable`) differ, so both have rows. Sources: GroupCoordinator, GroupMetadata,
GroupMetadataManager (Scala); GroupMetadataManager, ClassicGroup, ConsumerGroup, StreamsGroup, OffsetMetadataManager,
GroupCoordinatorShard, GroupCoordinatorService, InternalTopicManager, TopicRegexResolver, CoordinatorRuntime and its
helpers (Java).
"""

from collections.abc import Sequence
from typing import Final

from rebalance_audit.audit.broker_log.wording import Wording
from rebalance_audit.audit.broker_log.wordings_new_coordinator import NEW_COORDINATOR
from rebalance_audit.audit.broker_log.wordings_old_coordinator import OLD_COORDINATOR
from rebalance_audit.audit.broker_log.wordings_runtime import RUNTIME
from rebalance_audit.audit.broker_log.wordings_scoped import AFTER_GROUP_ID

PLAIN: Final[Sequence[Wording]] = (*OLD_COORDINATOR, *NEW_COORDINATOR, *RUNTIME)
SCOPED: Final = AFTER_GROUP_ID
