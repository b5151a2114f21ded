"""Findings of classic groups: the story that shows each one, and the nearest story that does not."""

from rebalance_audit.audit.options import AuditOptions
from tests.audit.findings.stories import Write, findings, only, pick

STATIC = (1000, "2 1 range A@i1=0-2 B@i2=3-5")


def back_with(topics: str) -> Write:
    """A returns under a new member id with a different subscription, and gets its old assignment."""
    return (5000, f"2 1 range A2@i1=0-2 B@i2=3-5 state_at=1000 topics:A2={topics}")


def test_a_static_member_back_with_another_topic() -> None:
    """The new topic has no owner until the next generation, and the finding ends with it."""
    later = (9000, "2 2 range A2@i1=0-2+bar:0 B@i2=3-5 topics:A2=foo,bar")
    row = only(findings(STATIC, back_with("foo,bar"), later), "static_subscription_ignored")
    assert pick(row, "severity", "topics", "member_ids", "from_at", "to_at") == (
        "critical",
        ["bar"],
        ["A2"],
        5000,
        9000,
    )
    open_end = only(findings(STATIC, back_with("foo,bar")), "static_subscription_ignored")
    assert open_end["to_at"] is None


def test_a_static_member_back_with_the_same_topics() -> None:
    """An ordinary restart within the session timeout is no finding."""
    assert findings(STATIC, back_with("foo")) == {}


def test_a_static_member_back_with_a_topic_that_another_one_has() -> None:
    """The topic has owners already: nothing is missing."""
    before = (1000, "2 1 range A@i1=0-2 B@i2=bar:0 topics:B=bar")
    after = (5000, "2 1 range A2@i1=0-2 B@i2=bar:0 state_at=1000 topics:B=bar topics:A2=foo,bar")
    assert findings(before, after) == {}


def test_a_topic_without_assignment() -> None:
    """The group subscribes to a topic that exists, and for over a minute no member has any of it."""
    story = [
        (1000, "2 1 range A=0-2 topics=foo,bar"),
        (90_000, "2 2 range A=0-2+bar:0 topics=foo,bar"),
    ]
    exists = AuditOptions(topic_lives=lambda _topic: [(0, None)])
    row = only(findings(*story, options=exists), "lost_partition")
    assert pick(row, "severity", "topics", "from_at", "to_at") == (
        "critical",
        ["bar"],
        1000,
        90_000,
    )
    deleted = AuditOptions(topic_lives=lambda topic: [(0, 500 if topic == "bar" else None)])
    assert findings(*story, options=deleted) == {}
    assert findings(*story) == {}, "no record says whether the topic exists"


def test_a_partition_that_got_lost() -> None:
    """A number below the highest one ever assigned is missing; whether it still exists is not known."""
    story = [(1000, "2 1 range A=0-2 B=3-5"), (2000, "2 2 range A=0-1 B=3-5")]
    ends = (200_000, "2 3 range A=0-2 B=3-5")
    row = only(findings(*story, ends), "lost_partition")
    assert pick(row, "severity", "from_at", "to_at") == ("warning", 2000, 200_000)
    assert "probably" in row["detail"]
    assert "lost_partition" not in findings(*story, (30_000, ends[1]))


def test_two_owners_in_one_generation() -> None:
    """A client-side assignor that assigns a partition twice."""
    row = only(findings((1000, "2 1 range A=0-3 B=3-5")), "two_owners")
    assert pick(row, "severity", "topics") == ("critical", ["foo"])
    assert row["evidence"][0]["fact"] == "foo-3 is assigned to A and B"
    assert findings((1000, "2 1 range A=0-2 B=3-5")) == {}


def test_a_leader_that_takes_long() -> None:
    """The sync phase is exact: record time minus the state's timestamp."""
    slow = (60_000, "2 2 range A=0-2 B=3-5 state_at=40000")
    row = only(findings((1000, "2 1 range A=0-2 B=3-5"), slow), "slow_sync")
    assert pick(row, "member_ids", "severity") == (["A"], "warning")
    assert "20.0 s after the join phase" in row["detail"]
    assert (
        findings((1000, "2 1 range A=0-2 B=3-5"), (60_000, "2 2 range A=0-2 B=3-5 state_at=59000"))
        == {}
    )


def cooperative(owned: str) -> list[Write]:
    """Three generations of a cooperative group whose first member says that it owns `owned`."""
    return [
        (1000, "2 1 cooperative-sticky A=0-5"),
        (20_000, f"2 2 cooperative-sticky A=0-2 B=- owned:A={owned}"),
        (40_000, f"2 3 cooperative-sticky A=0-2 B=3-5 owned:A={owned}"),
    ]


def test_eager_members_under_a_cooperative_name() -> None:
    """Members that continue and still own nothing when they join gave up everything before."""
    row = only(findings(*cooperative("-")), "eager_under_cooperative_name")
    assert pick(row, "from_at", "to_at", "severity") == (20_000, 40_000, "warning")
    assert findings(*cooperative("0-2")) == {}


def test_one_member_that_lost_its_partitions_is_no_eager_group() -> None:
    """A member that missed a heartbeat joins with nothing; the other shows that the group is not eager."""
    shares = "A=0-2 B=3-5 owned:B=3-5"
    story = [(20_000 * number, f"2 {number} cooperative-sticky {shares}") for number in range(1, 4)]
    assert findings(*story) == {}


def test_a_group_that_went_back() -> None:
    """The classic generation after a consumer group's last epoch is a downgrade; one of a classic group is not."""
    consumer = (1000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
    leaves = (5000, "8t A; 7t A; 6t; 5t A; 3t; 2 2 range B=0-5 state_at=5000")
    back = (6000, "2 3 range B=0-5")
    row = only(findings(consumer, leaves, back), "protocol_downgraded")
    assert pick(row, "severity", "from_at") == ("warning", 6000)
    assert findings((5000, "2 1 range B=0-5"), (500_000, "2 2 range B=0-5")) == {}
