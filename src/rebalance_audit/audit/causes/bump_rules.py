"""When a coordinator bumps a group epoch: one row for each thing that a request or a timer can change.

A heartbeat, a resolved expression or a removal is judged by its row. What bumps is a cause; what cannot bump is none,
however close to the epoch it was written. `docs/causes.md` shows the table. Source: Kafka's code on the release
branches 3.7 to 4.4 and what is merged for 4.5; GMM is `GroupMetadataManager`.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from rebalance_audit.replay.changes import GroupType

RELEASES: Final = ("3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4", "4.5")
"""Releases that differ in what bumps; later releases are treated like the last one."""


class Effect(Enum):
    """Whether something bumps the group epoch."""

    BUMPS = "bumps"
    """It always bumps, by itself."""
    MAY_BUMP = "may bump"
    """Whether it bumps depends on something that the records do not hold."""
    NEVER = "does not bump"


class Occasion(Enum):
    """What a request or a timer can change."""

    FIRST_HEARTBEAT = "the first heartbeat of a group"
    NAMES_CHANGED = "a member's topic names differ, those of a member that joins with some too"
    EXPRESSION_RESOLVED = "a member changes to an expression that others have and that is resolved"
    EXPRESSION_UNRESOLVED = "a member changes to an expression that is not resolved yet"
    EXPRESSION_CLEARED = "a member gives up its expression"
    ASSIGNOR_CHANGED = "a member prefers another assignor"
    OTHER_METADATA = "a member's rack, client, host or timeouts differ"
    MEMBER_METADATA = "any metadata of a dynamic streams member differs, also on joining"
    STATIC_REPLACED = "a static member comes back under another member id"
    RESOLVED_OTHER = "expressions are resolved to other topics than before"
    RESOLVED_SAME = "expressions are resolved to the same topics, or for the first time to none"
    METADATA_DIFFERS = (
        "the subscribed topics' metadata differ from what the group recorded, at a heartbeat after topics changed, "
        "after a fail-over or after an hour"
    )
    MEMBER_REMOVED = "members leave, expire or are removed"
    SHARE_INITIALISED = (
        "initialised share partitions are in no target: they are new, or, up to 4.2, "
        "those of a member that left"
    )
    SHARE_OFFSETS_ALTERED = "an administrator alters the offsets of a group without members"
    TOPOLOGY_VALIDATED = "another topology was validated"
    ASSIGNMENT_CONFIGS = "the group's assignment configurations differ from those recorded"
    OVER_CAPACITY = (
        "a coordinator loads a group with more members than `group.max.size`: a join phase begins"
    )
    GROUP_CONVERTED = "a classic group becomes a consumer group, or the reverse"


class BumpRule(NamedTuple):
    """One row."""

    occasion: Occasion
    groups: tuple[GroupType, ...]
    effects: Mapping[str, Effect]
    """Release -> the effect from that release on; before the first entry the occasion does not exist."""
    source: str
    """The place in Kafka's code that decides it."""


_BUMPS, _MAY, _NEVER = Effect
_CONSUMER: Final = (GroupType.CONSUMER,)
_SHARE: Final = (GroupType.SHARE,)
_STREAMS: Final = (GroupType.STREAMS,)

BUMP_RULES: Final[Sequence[BumpRule]] = (
    BumpRule(
        Occasion.FIRST_HEARTBEAT,
        _CONSUMER,
        {"3.7": _NEVER, "4.0": _BUMPS, "4.3": _NEVER},
        "GMM.consumerGroupHeartbeat: group epoch 0; from 4.3 groups begin at 1 and wait for topics",
    ),
    BumpRule(
        Occasion.NAMES_CHANGED,
        (GroupType.CONSUMER, GroupType.SHARE),
        {"3.7": _BUMPS},
        "GMM.hasMemberSubscriptionChanged",
    ),
    BumpRule(
        Occasion.EXPRESSION_RESOLVED,
        _CONSUMER,
        {"3.7": _BUMPS},
        "GMM.hasMemberSubscriptionChanged up to 3.9; GMM.maybeUpdateRegularExpressions",
    ),
    BumpRule(
        Occasion.EXPRESSION_UNRESOLVED,
        _CONSUMER,
        {"3.7": _BUMPS, "4.0": _NEVER},
        "GMM.hasMemberSubscriptionChanged up to 3.9; GMM.maybeUpdateRegularExpressions",
    ),
    BumpRule(
        Occasion.EXPRESSION_CLEARED,
        _CONSUMER,
        {"3.7": _BUMPS, "4.0": _MAY, "4.1": _BUMPS},
        "GMM.maybeUpdateRegularExpressions; in 4.0 only where a classic member takes a static one's place",
    ),
    BumpRule(
        Occasion.ASSIGNOR_CHANGED,
        _CONSUMER,
        {"3.7": _NEVER, "4.4": _MAY},
        "GMM.hasPreferredServerAssignorChanged: where the assignor that most members prefer is another one",
    ),
    BumpRule(
        Occasion.OTHER_METADATA,
        (GroupType.CONSUMER, GroupType.SHARE),
        {"3.7": _NEVER},
        "GMM.hasMemberSubscriptionChanged",
    ),
    BumpRule(
        Occasion.MEMBER_METADATA,
        _STREAMS,
        {"4.1": _BUMPS},
        "GMM.hasStreamsMemberMetadataChanged; static members (4.4) bump for topology, rack, tags and process alone",
    ),
    BumpRule(
        Occasion.STATIC_REPLACED,
        (GroupType.CONSUMER, GroupType.STREAMS),
        {"3.7": _NEVER},
        "GMM.replaceMember: the copy has the old subscription; what it then changes has its own row",
    ),
    BumpRule(
        Occasion.RESOLVED_OTHER,
        _CONSUMER,
        {"4.0": _BUMPS},
        "GMM.handleRegularExpressionsResult: a first resolution is compared with no topics",
    ),
    BumpRule(
        Occasion.RESOLVED_SAME, _CONSUMER, {"4.0": _NEVER}, "GMM.handleRegularExpressionsResult"
    ),
    BumpRule(
        Occasion.METADATA_DIFFERS,
        (GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS),
        {"3.7": _BUMPS},
        "GMM.updateSubscriptionMetadata, ModernGroup.hasMetadataExpired; also where an expression that was given up no "
        "longer brings its topics",
    ),
    BumpRule(
        Occasion.MEMBER_REMOVED,
        (GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS),
        {"3.7": _BUMPS},
        "GMM.consumerGroupFenceMembers, shareGroupFenceMember, streamsGroupFenceMember",
    ),
    BumpRule(Occasion.SHARE_INITIALISED, _SHARE, {"4.1": _MAY}, "GMM.initializedAssignmentPending"),
    BumpRule(
        Occasion.SHARE_OFFSETS_ALTERED,
        _SHARE,
        {"4.1": _NEVER, "4.5": _BUMPS},
        "GMM.alterShareGroupOffsets (KIP-932; KAFKA-20910)",
    ),
    BumpRule(
        Occasion.TOPOLOGY_VALIDATED,
        _STREAMS,
        {"4.1": _MAY},
        "GMM.streamsGroupHeartbeat: validatedTopologyEpoch",
    ),
    BumpRule(
        Occasion.ASSIGNMENT_CONFIGS,
        _STREAMS,
        {"4.2": _MAY},
        "GMM.streamsGroupHeartbeat: lastAssignmentConfigs",
    ),
    BumpRule(
        Occasion.OVER_CAPACITY,
        (GroupType.CLASSIC,),
        {"3.7": _BUMPS},
        'GMM.onLoaded: prepareRebalance, "Freshly-loaded group is over capacity"',
    ),
    BumpRule(
        Occasion.GROUP_CONVERTED,
        _CONSUMER,
        {"3.8": _MAY, "4.1": _NEVER},
        "GMM.convertToConsumerGroup, convertToClassicGroup: the counter is carried over; up to 4.0.0 the topics are "
        "not recorded, so that the next comparison bumps (KAFKA-18687)",
    ),
)
"""The rule, by release."""

_BY_OCCASION: Final = {(group, rule.occasion): rule for rule in BUMP_RULES for group in rule.groups}


def effect_of(occasion: Occasion, group_type: GroupType, releases: Sequence[str]) -> Effect:
    """Whether the occasion bumps, if any of `releases` may have written the records."""
    rule = _BY_OCCASION.get((group_type, occasion))
    found = {_in_release(rule, release) for release in releases} if rule is not None else set()
    found.discard(None)
    if len(found) == 1:
        (effect,) = found
        return effect or Effect.NEVER
    return Effect.MAY_BUMP if found else Effect.NEVER


def _in_release(rule: BumpRule, release: str) -> Effect | None:
    effect = None
    for since, then in rule.effects.items():
        if RELEASES.index(since) <= RELEASES.index(release):
            effect = then
    return effect


class WriteOrder(NamedTuple):
    """The records of one request, in the order in which Kafka writes them."""

    request: str
    records: str
    """`[type]` for a record, `[typet]` for its tombstone, `?` for at most one, `*` for any number."""


WRITE_ORDERS: Final[Sequence[WriteOrder]] = (
    WriteOrder(
        "heartbeat or classic join",
        "[2t]? ([8t] [7t] [5t] [5] [7] [8])? [5]? [16t]? [4]? [3]? [4t]? [7]* [6]? [8]?; up to 4.0 [4], from 4.1 [4t]",
    ),
    WriteOrder("expressions resolved", "[16]* [4]? [3]?"),
    WriteOrder(
        "members removed",
        "([8t] [7t] [5t])* [16t]* [4]? [3] [6]?; [6] from 4.4, where no member is left",
    ),
    WriteOrder("upgrade", "[2t] [5]* [3] [7]* [6] [8]*, then the heartbeat that asked for it"),
    WriteOrder("downgrade", "[8t]* [7t]* [6t] [5t]* [16t]* [4t] [3t] [2]"),
    WriteOrder("group deleted", "[6t] [16t]* [4t] [3t]"),
)
"""The orders by which `writes` separates two requests of one millisecond."""
