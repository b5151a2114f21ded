"""The group epoch: bumped for a reason that the caller has, or because the subscribed topics changed."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from rebalance_audit.coordinator.consumer.metadata import metadata_hash, recorded_shapes
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.reasons import Bump, BumpReason, Trigger

_TOPICS_DIFFER = BumpReason(Trigger.TOPICS_DIFFER)


def bump_for_topics(
    work: Work,
    topic_names: AbstractSet[str],
    regexes: Mapping[str, frozenset[str]],
    reasons: Sequence[BumpReason] = (),
) -> int | None:
    """Compare these topics, and those that the expressions match, with those on record; drafts [4]? [3]?.

    With any reason the epoch is bumped in any case. Returns the new group epoch, None where it stays.
    """
    names = frozenset(topic_names).union(*regexes.values())
    group = work.group
    differ = False
    new_hash = group.metadata_hash
    if work.release.topic_metadata_record:
        shapes = recorded_shapes(names, work.image)
        if shapes != group.recorded_shapes:
            work.records.append(work.drafts.topic_metadata(shapes.values()))
            differ = True
    else:
        new_hash = metadata_hash(names, work.image)
        differ = new_hash != group.metadata_hash
    if differ:
        reasons = (*reasons, _TOPICS_DIFFER)
    if not reasons:
        return None
    group_epoch = work.group_epoch + 1
    why = (*work.beginning, *(each for each in reasons if each not in work.beginning))
    topics = {name: work.image.topic(name) for name in sorted(names)}
    work.outcome.bump(Bump(group.group_id, group_epoch, why, topics))
    work.records.append(work.drafts.group_epoch(group_epoch, new_hash))
    return group_epoch
