"""How members ended, by what they committed: what commits decide, and what must not mislead."""

from collections.abc import Sequence

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.wire.consumer_protocol import decode_subscription, encode_subscription
from rebalance_audit.wire.generated.messages import GroupMetadataMember, GroupMetadataValue
from tests.dsl import TOPIC_NAMES, Log, log

TWO_JOIN = (1_000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
B_JOINS = (2_000, "5 B host=/b; 3 3; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
SETTLED = [TWO_JOIN, B_JOINS, (2_500, "8 A 3/2 0-2"), (3_000, "8 B 3/3 3-5")]
A_GOES = "8t A; 7t A; 5t A; 3 4"

CLASSIC = (1_000, "2 1 range A=0-2 B=3-5 session=10000 timeout=300000 state_at=1000")


def commits(partition: int, *times: int) -> list[tuple[int, str]]:
    """Commits for one partition of `foo`, a write each."""
    return [(at_ms, f"1 foo:{partition} {at_ms}") for at_ms in times]


def end_of(member_id: str, *writes: tuple[int, str]) -> Row:
    """The cause that names the member, in the last epoch."""
    got = audit_log(
        log(*sorted(writes, key=lambda write: write[0])), AuditOptions(topic_name=TOPIC_NAMES.get)
    )
    epoch = max(row["epoch"] for row in got["epochs"])
    (cause,) = [
        row
        for row in got["rebalance_causes"]
        if row["epoch"] == epoch and row["member_id"] == member_id
    ]
    (member,) = [row for row in got["members"] if row["member_id"] == member_id]
    assert (member["left_how"], member["left_certainty"]) == (cause["cause"], cause["certainty"])
    assert cause["certainty"] != "proven"
    return cause


def with_rack(records: Log, rack: str | None, only: str = "") -> Log:
    """The records with this rack in the subscription of all members, or of one."""
    written = []
    for record, position in records:
        value = record.value
        if isinstance(value, GroupMetadataValue):
            members = [
                _with_rack(each, rack) if only in ("", each.member_id) else each
                for each in value.members
            ]
            value = value._replace(members=tuple(members))
        written.append((record._replace(value=value), position))
    return written


def with_fail_over(records: Log, at_ms: int) -> Log:
    """The records with another coordinator after a moment (epoch ms)."""
    return [
        (record, position._replace(leader_epoch=7 if position.record_timestamp_ms > at_ms else 6))
        for record, position in records
    ]


def _with_rack(member: GroupMetadataMember, rack: str | None) -> GroupMetadataMember:
    said = decode_subscription(member.subscription)
    assert said is not None
    return member._replace(subscription=encode_subscription(said._replace(rack_id=rack)))


def test_a_member_that_committed_just_before_it_went_left() -> None:
    """A client commits as it closes."""
    cause = end_of("A", *SETTLED, *commits(0, 8_000, 13_000, 15_990), (16_000, A_GOES))
    assert cause["cause"] == "member_left"
    assert cause["detail"] == "A committed at 00:00:15.990, 10 ms before it was removed."
    assert "last commit of A, for foo-0" in [fact["fact"] for fact in cause["evidence"]]


@pytest.mark.parametrize(
    ("after_ms", "how"),
    [
        (45_060, "member_session_expired"),
        (45_200, "member_departed"),
        (60_060, "member_session_expired"),
        (62_000, "member_departed"),
        (110_060, "member_departed"),
    ],
)
def test_a_member_that_goes_as_the_timer_of_a_heartbeat_fires_expired(
    after_ms: int, how: str
) -> None:
    """Each record of a member is written with its heartbeat, which starts the session's timer; so do the next ones.

    After so many heartbeats that their delays add up, the interval shows nothing any more.
    """
    assert end_of("A", *SETTLED, (2_500 + after_ms, A_GOES))["cause"] == how


def test_silence_shows_nothing_of_a_member_that_had_been_silent_as_long_before() -> None:
    """One long pause before is enough for doubt."""
    others = commits(3, *range(6_000, 160_000, 5_000))
    cause = end_of("A", *SETTLED, *others, *commits(0, 5_000, 10_000, 100_000), (160_000, A_GOES))
    assert cause["cause"] == "member_departed"


def test_commits_of_the_next_owner_are_not_those_of_the_one_before() -> None:
    """A gave partition 0 up to B, which goes on to commit it."""
    moved = [
        (4_000, "5 A topics=foo,bar; 3 4; 7 A 1-2; 7 B 0,3-5; 6 4; 8 A 3/3 UNREVOKED 1-2|0"),
        (4_100, "8 A 4/3 1-2"),
        (4_200, "8 B 4/3 0,3-5"),
    ]
    gone = "8t A; 7t A; 5t A; 3 5"
    cause = end_of("A", *SETTLED, *moved, *commits(0, 50_000, 55_000, 59_990), (60_000, gone))
    assert cause["cause"] == "member_departed"


def test_a_classic_member_that_committed_within_its_session_did_not_expire() -> None:
    """Each commit restarts the session timer of a classic member."""
    cause = end_of(
        "A",
        CLASSIC,
        *commits(0, 50_000, 55_000, 59_000),
        *commits(3, 60_000),
        (61_000, "2 2 range B=0-5 session=10000 timeout=300000 state_at=60990"),
    )
    assert cause["cause"] == "member_left"
    assert "its session did not expire" in cause["detail"]
    assert "member_session_expired" not in cause["alternatives"]


def in_transactions(records: Log) -> Log:
    """The records with all commits in transactions."""
    return [
        (record, position._replace(is_transactional=int(record.record_type) == 1))
        for record, position in records
    ]


def test_a_commit_in_a_transaction_restarts_no_session() -> None:
    """Only plain commits restart the timer."""
    writes = [CLASSIC, (61_000, "2 2 range B=0-5 session=10000 timeout=300000 state_at=60990")]
    records = in_transactions(log(*writes[:1], *commits(0, 59_000), *writes[1:]))
    causes = audit_log(records)["rebalance_causes"]
    assert [row["cause"] for row in causes if row["member_id"] == "A"][-1] == "member_departed"


def test_the_commits_of_another_coordinator_restarted_no_session_of_this_one() -> None:
    """Its clock may differ, and its timers are gone."""
    writes = [CLASSIC, (61_000, "2 2 range B=0-5 session=10000 timeout=300000 state_at=60990")]
    records = list(log(*writes[:1], *commits(0, 59_000), *writes[1:]))
    moved = [
        (record, position._replace(leader_epoch=7) if at == len(records) - 1 else position)
        for at, (record, position) in enumerate(records)
    ]
    causes = audit_log(moved)["rebalance_causes"]
    assert [row["cause"] for row in causes if row["member_id"] == "A"][-1] == "member_departed"


def test_a_classic_member_stopped_before_the_join_phase_in_which_it_expired() -> None:
    """B committed on until the join phase, long after A had stopped."""
    cause = end_of(
        "A",
        CLASSIC,
        *commits(0, *range(5_000, 46_000, 5_000)),
        *commits(3, *range(6_000, 60_000, 5_000)),
        (57_000, "2 2 range B=0-5 session=10000 timeout=300000 state_at=56990"),
    )
    assert cause["cause"] == "member_session_expired"


@pytest.mark.parametrize(
    ("rack", "gone_ms", "how"),
    [
        (None, 57_000, "member_session_expired"),
        ("", 57_000, "member_session_expired"),
        ("", 200_000, "member_departed"),
    ],
)
def test_the_last_member_of_a_group_is_known_by_what_its_library_commits(
    rack: str | None, gone_ms: int, how: str
) -> None:
    """A session after its last commit both expired. Later, a Java client would still have committed what it had."""
    records = log(
        (1_000, "2 1 range A=0-5 session=10000 timeout=300000 state_at=1000"),
        *commits(0, *range(5_000, 46_000, 5_000)),
        (gone_ms, f"2 2 state_at={gone_ms}"),
    )
    causes = audit_log(with_rack(records, rack))["rebalance_causes"]
    assert [row["cause"] for row in causes if row["member_id"] == "A"][-1] == how


@pytest.mark.parametrize(
    ("settings", "rejoined_ms", "ended_ms", "how"),
    [
        ("session=10000 timeout=60000", 22_000, 30_005, "member_session_expired"),
        ("session=45000 timeout=30000", 52_000, 53_000, "member_left"),
    ],
)
def test_one_end_fits_the_join_phase_that_a_classic_member_missed(
    settings: str, rejoined_ms: int, ended_ms: int, how: str
) -> None:
    """A commits every 3 s or so until second 20, B until it rejoins; then the group waits until C comes or A goes.

    A died as its session ran out, polled too late, closed as the longest join phase began, or was waited for in vain.
    """
    records = log(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, 4_000, 6_000, 10_000, 14_000, 17_000, 20_000),
        *commits(3, *range(3_000, rejoined_ms, 3_000), rejoined_ms),
        (ended_ms + 5, f"2 2 range B=0-2 C=3-5 {settings} state_at={ended_ms}"),
    )
    causes = audit_log(with_rack(records, None))["rebalance_causes"]
    (cause,) = [row for row in causes if row["member_id"] == "A" and row["epoch"] == 2]
    assert (cause["cause"], cause["certainty"]) == (how, "probable")


def test_offsets_reset_while_a_partition_has_no_owner_belong_to_no_member() -> None:
    """An administrator sets offsets of the empty group; then A joins, and is gone without having committed."""
    cause = end_of(
        "A",
        TWO_JOIN,
        *commits(0, 900),
        (60_000, "8t A; 7t A; 5t A; 3 3"),
    )
    assert cause["cause"] == "member_departed"
    assert not [fact for fact in cause["evidence"] if "commit" in fact["fact"]]


def test_a_member_that_owns_nothing_any_more_has_nothing_to_commit() -> None:
    """A gave everything up to B, which commits on; the id of A is a Java client's."""
    java = "abcdefghijklmnopqrst-_"
    writes = [
        (1_000, f"5 {java}; 3 2; 7 {java} 0-5; 6 2; 8 {java} 2/0 0-5"),
        (2_000, f"5 B host=/b; 3 3; 7 B 0-5; 7 {java} -; 6 3; 8 B 3/0 UNRELEASED -"),
        (11_000, f"8 {java} 3/2 -"),
        (11_500, "8 B 3/3 0-5"),
        (60_000, f"8t {java}; 7t {java}; 5t {java}; 3 4"),
    ]
    others = commits(0, *range(15_000, 60_000, 5_000))
    assert end_of(java, *writes, *commits(0, 5_000, 10_000), *others)["cause"] == "member_departed"


@pytest.mark.parametrize("deed", ["1t foo:0", "1 foo:9 7", "1 bar:0 7"])
def test_what_others_do_to_offsets_is_no_sign_that_a_member_lives(deed: str) -> None:
    """Offsets that are deleted, or committed for what A does not own, a moment before A is gone."""
    others = commits(3, *range(6_000, 60_000, 5_000))
    writes = [*SETTLED, *others, *commits(0, 5_000, 10_000, 15_000), (59_990, deed)]
    assert end_of("A", *writes, (60_000, A_GOES))["cause"] == "member_session_expired"


@pytest.mark.parametrize("rack", [None, ""])
def test_commits_that_the_cleaner_took_are_no_silence(rack: str | None) -> None:
    """A committed partition 0 to the end. B commits it since, so only A's old commit for partition 1 is left."""
    gone = (60_000, "2 2 range B=0-5 session=10000 timeout=300000 state_at=59990")
    kept = [CLASSIC, *commits(1, 20_000), gone, *commits(0, 65_000), *commits(3, 65_000)]
    causes = audit_log(with_rack(log(*sorted(kept)), rack))["rebalance_causes"]
    assert [row["cause"] for row in causes if row["member_id"] == "A"][-1] == "member_departed"


@pytest.mark.parametrize(
    ("committed", "least", "most"),
    [
        pytest.param([*range(6_000, 32_000, 5_000), 33_000], 0.95, 1.0, id="before its time"),
        pytest.param(range(6_000, 37_000, 5_000), 0.3, 0.7, id="when the timer was due"),
        pytest.param([], 0.8, 0.8, id="no commits"),
    ],
)
def test_a_static_member_that_commits_before_its_time_closed(
    committed: Sequence[int], least: float, most: float
) -> None:
    """It leaves neither when it closes nor when it dies; its successor takes over the instance id in both cases."""
    story = [
        (1_000, "2 1 range A=0-2 B@i=3-5 session=30000 state_at=1000"),
        *commits(3, *committed),
        (40_000, "2 1 range A=0-2 C@i=3-5 session=30000 state_at=1000"),
    ]
    got = audit_log(log(*story), AuditOptions(topic_name=TOPIC_NAMES.get))["members"]
    weights = {row["member_id"]: row["closed_weight"] for row in got}
    assert least <= weights.pop("B") <= most
    assert set(weights.values()) == {None}
