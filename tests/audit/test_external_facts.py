"""What sources answered an audit about topics, and whether they would give the same answers again."""

from collections.abc import Sequence

import pytest

from rebalance_audit.audit.options import AuditOptions, ExternalFacts
from tests.dsl import TOPIC_IDS

Lives = Sequence[tuple[int | None, int | None]]


@pytest.mark.parametrize(
    ("first", "later", "is_change"),
    [
        ((), (), False),
        ((), ((500, None),), True),
        ((), ((501, None),), False),
        (((100, None),), ((100, 501),), False),
        (((100, None),), ((100, 500),), True),
        (((100, None),), ((100, 600), (700, None)), False),
        (((None, None),), ((100, None),), True),
        (((100, 200),), ((100, 200),), False),
    ],
)
def test_lives_matter_up_to_the_last_moment_that_was_asked_about(
    first: Lives, later: Lives, is_change: bool
) -> None:
    """The audit asks about 300 and 500: what happens to the topic after that changes no answer."""
    answers = {"foo": first}
    outside = ExternalFacts(AuditOptions(topic_lives=lambda topic: answers[topic]))
    before = [outside.topic_existed("foo", at_ms) for at_ms in (300, 500)]
    answers["foo"] = later
    assert (outside.changes() is not None) == is_change
    if not is_change:
        assert before == [outside.topic_existed("foo", at_ms) for at_ms in (300, 500)]


@pytest.mark.parametrize(
    ("first_ms", "later_ms", "is_change"),
    [
        (None, None, False),
        (None, 501, False),
        (None, 500, True),
        (400, 400, False),
        (600, 700, False),
        (600, 450, True),
    ],
)
def test_deletions_matter_up_to_the_moment_that_was_asked_about(
    first_ms: int | None, later_ms: int | None, is_change: bool
) -> None:
    """The audit asks whether the topic was deleted by 500."""
    answers = {TOPIC_IDS["foo"]: first_ms}
    outside = ExternalFacts(AuditOptions(topic_deleted_at=answers.__getitem__))
    assert outside.topic_deleted(TOPIC_IDS["foo"], 500) == (
        first_ms is not None and first_ms <= 500
    )
    answers[TOPIC_IDS["foo"]] = later_ms
    assert (outside.changes() is not None) == is_change


def test_of_too_many_topics_without_a_name_any_may_be_news() -> None:
    """Not all of them are kept, so an audit does not continue from a snapshot that lacks so many names."""
    outside = ExternalFacts(AuditOptions())
    for number in range(10_000):
        assert outside.topic_name(number.to_bytes(16)) is None
    assert outside.changes() is None
    outside.topic_name((10_000).to_bytes(16))
    assert outside.changes() is not None
    assert len(outside.unnamed) == 10_000
