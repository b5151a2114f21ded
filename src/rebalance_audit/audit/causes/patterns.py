"""The table pattern -> cause: what each cause looks like in the records, and its best certainty from them.

`docs/causes.md` is generated from it, and the tests check every cause that the audit claims against it. With a broker's
log any cause can be proven.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause


class Look(NamedTuple):
    """What a cause looks like in one kind of group."""

    pattern: str
    at_best: Certainty | None
    """None if the audit never claims the cause, and at most names it as an alternative."""


class CausePattern(NamedTuple):
    """One cause, in groups whose coordinator assigns and in groups whose leader assigns."""

    modern: Look
    classic: Look


_PROVEN, _PROBABLE, _POSSIBLE = Certainty
_NEVER: Final = Look("never", None)
_UNSEEN: Final = Look("named as an alternative", None)

CAUSE_PATTERNS: Final[Mapping[RebalanceCause, CausePattern]] = {
    RebalanceCause.GROUP_CREATED: CausePattern(
        Look("the first epoch of a group that the log saw begin", _PROVEN),
        Look("the first generation of a group that the log saw begin", _PROVEN),
    ),
    RebalanceCause.MEMBER_JOINED: CausePattern(
        Look("the record of a new member id without instance id that brings topics", _PROVEN),
        Look(
            "a member id that the generation before did not have; proven only where the group was empty",
            _PROVEN,
        ),
    ),
    RebalanceCause.STATIC_MEMBER_JOINED: CausePattern(
        Look(
            "the record of a new member id that brings topics, with an instance id that the group did not have",
            _PROVEN,
        ),
        Look(
            "an instance id that the generation before did not have; proven only where the group was empty",
            _PROVEN,
        ),
    ),
    RebalanceCause.STATIC_MEMBER_REPLACED: CausePattern(
        Look(
            "meanwhile only: a replacement does not bump the epoch",
            _PROBABLE,
        ),
        Look("an instance id under a new member id in a new generation", _PROBABLE),
    ),
    RebalanceCause.STATIC_MEMBER_EXPIRED: CausePattern(
        Look("a member that had left temporarily (epoch -2) is removed", _PROBABLE), _NEVER
    ),
    RebalanceCause.MEMBER_LEFT: CausePattern(
        Look(
            "a member's tombstones, sooner after its last sign of life than a session can run out, or right after a "
            "commit",
            _PROBABLE,
        ),
        Look(
            "a member that is gone before its session, which each commit restarts, or its rebalance timeout can have "
            "run out, or right after a commit",
            _PROBABLE,
        ),
    ),
    RebalanceCause.MEMBER_SESSION_EXPIRED: CausePattern(
        Look(
            "the tombstones of a member that had not answered a new target, whose process had been restarted, "
            "or that had stopped committing about a session before",
            _PROBABLE,
        ),
        Look(
            "a member that had stopped committing about a session before the join phase began, or ended",
            _PROBABLE,
        ),
    ),
    RebalanceCause.MEMBER_REBALANCE_TIMEOUT: CausePattern(
        Look(
            "the member's tombstones, its rebalance timeout after it was asked to revoke partitions",
            _PROBABLE,
        ),
        Look(
            "a member that is missing after the others waited for as long as the rebalance timeout",
            _PROBABLE,
        ),
    ),
    RebalanceCause.PENDING_MEMBER_EXPIRED: CausePattern(
        _NEVER, Look("in the broker's log alone: a pending member has no record", None)
    ),
    RebalanceCause.MEMBER_REMOVED_BY_ADMIN: CausePattern(
        Look(
            "tombstones of several members in one write, or of one that was alive and joined again at once",
            _PROBABLE,
        ),
        Look(
            "active members whose clients are back within seconds",
            _PROBABLE,
        ),
    ),
    RebalanceCause.MEMBER_DEPARTED: CausePattern(
        Look("a member's tombstones, and no end is likelier than 0.95", _PROBABLE),
        Look(
            "a member id that the next generation lacks, and no end is likelier than 0.95",
            _PROBABLE,
        ),
    ),
    RebalanceCause.GROUP_EMPTIED: CausePattern(
        Look("the last member goes", _PROVEN), Look("a generation without members", _PROVEN)
    ),
    RebalanceCause.GROUP_DELETED: CausePattern(
        Look("the group's tombstones: no epoch, the end of its members", None),
        Look("the group's tombstone: no generation, the end of its members", None),
    ),
    RebalanceCause.SUBSCRIPTION_CHANGED: CausePattern(
        Look(
            "a known member's record with other topics, or with an expression that is already "
            "resolved; possible beside a join that adds topics",
            _PROVEN,
        ),
        Look(
            "a known member with other topics; in groups that are no consumers, with another config offset or address "
            "(Connect), another identity (schema registries), or other bytes",
            _PROBABLE,
        ),
    ),
    RebalanceCause.REGEX_RESOLVED: CausePattern(
        Look("a resolved expression with other topics than before", _PROVEN), _NEVER
    ),
    RebalanceCause.TOPIC_METADATA_CHANGED: CausePattern(
        Look(
            "the hash or the list of the subscribed topics differs, and no change by a member explains it",
            _PROVEN,
        ),
        Look("the same members share another set of partitions", _PROBABLE),
    ),
    RebalanceCause.ASSIGNOR_CHANGED: CausePattern(
        Look(
            "a known member's record prefers another assignor, and no other record of the write can bump (from 4.4)",
            _PROVEN,
        ),
        Look("the members agree on another protocol name", _POSSIBLE),
    ),
    RebalanceCause.LEADER_REJOINED: CausePattern(
        _NEVER,
        Look(
            "same members, same subscriptions, same partitions; in groups that are no consumers, same metadata",
            _POSSIBLE,
        ),
    ),
    RebalanceCause.COOPERATIVE_FOLLOW_UP: CausePattern(
        Look("never: reconciliation does it without an epoch", None),
        Look(
            "hands out what the cooperative generation before only revoked; or that one called for it: in its user "
            "data (Kafka Streams), with tasks to revoke, a delay or an error (Connect)",
            _PROBABLE,
        ),
    ),
    RebalanceCause.CLIENT_ASSIGNOR_REQUESTED: CausePattern(
        Look("never: no release of Kafka lets clients assign", None), _NEVER
    ),
    RebalanceCause.PROTOCOL_UPGRADED: CausePattern(
        Look(
            "beside the join whose request turned a classic group into this one; proven where nothing else bumps, and "
            "the topics are recorded for the first time",
            _PROVEN,
        ),
        _NEVER,
    ),
    RebalanceCause.PROTOCOL_DOWNGRADED: CausePattern(
        _NEVER,
        Look(
            "the first generation after the last member of the consumer protocol had gone",
            _PROBABLE,
        ),
    ),
    RebalanceCause.OFFSETS_ALTERED: CausePattern(
        Look(
            "an epoch of a share group without members that initialises partitions in the same write (from 4.5, "
            "not released yet)",
            _PROVEN,
        ),
        _NEVER,
    ),
    RebalanceCause.ASSIGNMENT_ONLY: CausePattern(_UNSEEN, _UNSEEN),
    RebalanceCause.UNKNOWN: CausePattern(
        Look("no record of the write shows it", _POSSIBLE),
        Look("the records that would show it are missing", _POSSIBLE),
    ),
}
