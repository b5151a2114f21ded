"""Subscriptions by regular expression: their syntax, when they are resolved, and what the result changes.

Expressions follow RE2, as KIP-848 requires, and must match a topic's whole name. They are resolved outside the
heartbeat: it arms a timer with no delay, and the group learns the topics from the records that the timer drafts.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import re2

from rebalance_audit.coordinator.consumer.bumps import bump_for_topics
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.handling import ErrorCode, RefusedError, TimerKind
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.java_order import hash_map_order

LEAST_INTERVAL_MS: Final = 10_000
"""Least time between two resolutions of one group's expressions, in milliseconds."""

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False


@lru_cache(1 << 10)
def compiled(expression: str) -> Any:
    """The compiled expression. Raises RefusedError (INVALID_REGULAR_EXPRESSION)."""
    try:
        return re2.compile(expression, _OPTIONS)
    except (re2.error, UnicodeEncodeError) as problem:
        raise RefusedError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex {expression!a} is not a valid regular expression: {problem}",
        ) from None


def matching(expression: str, topic_names: Iterable[str]) -> frozenset[str]:
    """The topics whose whole name the expression matches; none where it is invalid."""
    try:
        pattern = compiled(expression)
    except RefusedError:
        return frozenset()
    return frozenset(name for name in topic_names if pattern.fullmatch(name))


class RegexChange(NamedTuple):
    """What a heartbeat did to its member's subscription by expression."""

    changed: bool
    bumps: bool
    """Whether the topics of the new subscription are known, so that a new target is due at once."""


def follow_regex(
    work: Work, member: ModernMember, updated: ModernMember, new_topics_version: int
) -> RegexChange:
    """Draft [16t] for an expression that lost its last subscriber, and have expressions resolved where that is due.

    `new_topics_version` is the version of the topic image that last brought a new topic.
    Raises RefusedError (INVALID_REGULAR_EXPRESSION).
    """
    old, new = member.subscribed_topic_regex, updated.subscribed_topic_regex
    expressions = work.soft.expressions
    bumps = is_new = False
    if old != new:
        if old and expressions[old] == 1:
            work.records.append(work.drafts.regex_gone(old))
        if new:
            if not expressions[new]:
                compiled(new)
                is_new = True
            else:
                bumps = new in work.group.regexes
        else:
            bumps = work.release.cleared_regex_bumps
    if is_new or expressions:
        _resolve_where_due(work, old, new, new_topics_version, is_new=is_new)
    return RegexChange(old != new, bumps)


def _resolve_where_due(
    work: Work, old: str, new: str, new_topics_version: int, *, is_new: bool
) -> None:
    soft, resolutions = work.soft, work.group.regex_resolutions
    if soft.resolving is not None:
        return
    # All are resolved together, so any of them has the time and the image.
    last = next(iter(resolutions.values()), None)
    if last is not None and work.now_ms <= last.resolved_at_ms + LEAST_INTERVAL_MS:
        return
    wanted = set(soft.expressions)
    if old and old != new and soft.expressions[old] == 1:
        wanted.discard(old)
    if new:
        wanted.add(new)
    due = is_new or len(wanted) != len(resolutions)
    if last is not None:
        due = due or last.metadata_version < new_topics_version
        if work.release.regex_refresh_by_time:
            refresh_at_ms = last.resolved_at_ms + work.config.consumer_regex_refresh_interval_ms
            due = due or work.now_ms > refresh_at_ms
    if due and wanted:
        soft.resolving = frozenset(wanted)
        work.arm(TimerKind.REGEX, work.config.consumer_regex_resolution_ms)


def resolve(work: Work) -> None:
    """Match the requested expressions with the topics; drafts [16]* [3]?."""
    soft, group = work.soft, work.group
    asked, soft.resolving = soft.resolving or frozenset(), None
    regexes = dict(group.regexes)
    changed = False
    names = work.image.names()
    for expression in hash_map_order(sorted(asked)):
        if not soft.expressions[expression]:
            continue
        topics = matching(expression, names)
        # An expression without a record counts as one that matches no topic.
        changed = changed or topics != regexes.get(expression, frozenset())
        regexes[expression] = topics
        work.records.append(
            work.drafts.regex(expression, topics, work.image.metadata_version, work.now_ms)
        )
    reasons = (BumpReason(Trigger.EXPRESSION_RESOLVED),) if changed else ()
    if bump_for_topics(work, work.topic_names_with(), regexes, reasons) is not None:
        soft.topics_are_checked = True
