"""How members ended: what the protocol rules out, and what each kind of evidence says about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.audit.causes.departure_model import (
    EVIDENCE,
    EXCLUSIONS,
    SIGNS,
    WAYS,
    EvidenceKind,
    posterior_of,
    posteriors_of,
)
from rebalance_audit.audit.causes.departure_weights import SURE
from rebalance_audit.audit.causes.departures import reason_of
from rebalance_audit.audit.commits.rhythm import CommitRhythm
from rebalance_audit.audit.verdicts.cause import DepartureFacts, Phase, RebalanceCause
from rebalance_audit.sentences.render import reason_text

LEFT, EXPIRED, TIMED_OUT, REMOVED = WAYS
UNDECIDED = RebalanceCause.MEMBER_DEPARTED

EVERY_5S = CommitRhythm(20, 5_000, 5_010, 5_000)
PHASE = Phase(60_000, 1_000, CommitRhythm(20, 5_000, 5_010, 5_000), 0, 0, 0, leaves_empty=False)
EMPTIED = Phase(60_000, None, None, 0, 0, 0, leaves_empty=True)
CLASSIC = DepartureFacts(
    gone_ms=1_800_000_000_000,
    is_classic=True,
    is_static=False,
    sessions_ms=(10_000,),
    is_session_known=True,
    poll_ms=60_000,
    since_alive_ms=200_000,
    since_seen_ms=200_000,
    since_commit_ms=None,
    commit_renews_session=True,
    same_coordinator=True,
    rhythm=None,
    idle_commits=0,
    idle_in_group=0,
    closed_with_commit=0,
    closed_without_commit=0,
    phase=PHASE,
)
COMMITS = CLASSIC._replace(rhythm=EVERY_5S)
MODERN = CLASSIC._replace(
    is_classic=False, phase=None, commit_renews_session=False, may_time_out=False
)


def verdict(facts: DepartureFacts) -> RebalanceCause:
    """The cause that the facts lead to."""
    way, share = posterior_of(facts).ranked[0]
    return way if share >= SURE else UNDECIDED


def shares(facts: DepartureFacts) -> dict[RebalanceCause, float]:
    """How likely each end is."""
    return dict(zip(WAYS, posterior_of(facts).shares, strict=True))


EXCLUDED = {
    "heard_within_session": CLASSIC._replace(since_alive_ms=4_000, since_seen_ms=4_000),
    "committed_within_session": COMMITS._replace(since_commit_ms=4_000),
    "static_member": CLASSIC._replace(
        is_static=True, since_alive_ms=20_000, since_seen_ms=20_000, since_commit_ms=15_000
    ),
    "phase_too_short": CLASSIC._replace(since_alive_ms=20_000, since_seen_ms=20_000),
    "owed_nothing": MODERN,
}


@pytest.mark.parametrize("exclusion", EXCLUSIONS, ids=lambda each: each.name)
def test_the_protocol_rules_ends_out(exclusion: object) -> None:
    """What is ruled out has no share, and each exclusion names Kafka's code."""
    (found,) = [each for each in EXCLUSIONS if each is exclusion]
    facts = EXCLUDED[found.name]
    assert found.applies(facts)
    assert shares(facts)[found.rules_out] == 0
    assert found.name in posterior_of(facts).excluded
    assert found.source
    assert found.releases


DECIDED = {
    "commits as it closes": (COMMITS._replace(since_commit_ms=20, phase=EMPTIED), LEFT),
    "its session cannot have run out": (COMMITS._replace(since_commit_ms=4_000), LEFT),
    "silent for a session, while another went on": (
        COMMITS._replace(since_commit_ms=13_500),
        EXPIRED,
    ),
    "the same, with commits of unchanged positions": (
        COMMITS._replace(since_commit_ms=13_500, idle_commits=5, idle_in_group=5),
        EXPIRED,
    ),
    "only ever committed what was new, and all fell silent": (
        COMMITS._replace(
            since_commit_ms=25_000,
            phase=PHASE._replace(others_silent_ms=24_000),
            since_seen_ms=90_000,
        ),
        UNDECIDED,
    ),
    "never committed": (CLASSIC, UNDECIDED),
    "kept partitions for its rebalance timeout": (
        MODERN._replace(may_time_out=True, kept_too_long=True),
        TIMED_OUT,
    ),
    "several in one request": (MODERN._replace(in_one_request=2), REMOVED),
    "back at once after it was removed alive": (
        COMMITS._replace(since_commit_ms=2_500, phase=EMPTIED, back_ms=1_500),
        UNDECIDED,
    ),
    "stays away": (COMMITS._replace(since_commit_ms=2_500, phase=EMPTIED, away_ms=30_000), LEFT),
    "came back under its id after a session": (
        MODERN._replace(rhythm=EVERY_5S, since_commit_ms=12_000, back_ms=20_000, kept_id=True),
        EXPIRED,
    ),
    "as long after a commit as a session and as max.poll.interval.ms": (
        COMMITS._replace(poll_ms=12_000, since_commit_ms=15_000),
        UNDECIDED,
    ),
    "a little less than max.poll.interval.ms after a commit in the background": (
        COMMITS._replace(poll_ms=12_000, since_commit_ms=10_700),
        UNDECIDED,
    ),
    "its session ran out long before max.poll.interval.ms": (
        COMMITS._replace(poll_ms=300_000, since_commit_ms=13_500),
        EXPIRED,
    ),
    "right after another had left": (
        MODERN._replace(after_leave_ms=5, since_commit_ms=3_000, rhythm=EVERY_5S),
        LEFT,
    ),
    "a session after its last recorded heartbeat": (
        MODERN._replace(
            since_alive_ms=10_040, since_seen_ms=10_040, since_commit_ms=11_000, rhythm=EVERY_5S
        ),
        EXPIRED,
    ),
    "did not answer a target": (
        MODERN._replace(is_overdue=True, since_commit_ms=13_000, rhythm=EVERY_5S),
        EXPIRED,
    ),
    "away with the coordinator, its client joined anew": (
        COMMITS._replace(
            since_alive_ms=None,
            since_commit_ms=25_000,
            commit_renews_session=False,
            same_coordinator=False,
            phase=PHASE._replace(client_joined=True, other_changes=1),
        ),
        EXPIRED,
    ),
}


@pytest.mark.parametrize(("facts", "end"), DECIDED.values(), ids=DECIDED.keys())
def test_evidence_decides_where_it_is_enough(facts: DepartureFacts, end: RebalanceCause) -> None:
    """From 0.95 on an end is named; below, it stays open."""
    assert verdict(facts) is end


RAISES = {
    "its client was back at once": (
        COMMITS._replace(since_commit_ms=2_500, phase=EMPTIED),
        {"back_ms": 1_500},
        REMOVED,
    ),
    "others that stay went on for long": (
        COMMITS._replace(since_commit_ms=13_500, phase=PHASE._replace(others_silent_ms=13_000)),
        {"phase": PHASE},
        EXPIRED,
    ),
    "a commit before its time": (
        COMMITS._replace(since_commit_ms=3_000),
        {"rhythm": EVERY_5S._replace(pause_ms=1_200), "since_commit_ms": 3_000},
        LEFT,
    ),
    "the group's clients commit on closing": (
        COMMITS._replace(since_commit_ms=13_500),
        {"closed_with_commit": 20},
        EXPIRED,
    ),
    "the group's clients close without a commit": (
        COMMITS._replace(since_commit_ms=13_500),
        {"closed_without_commit": 20},
        LEFT,
    ),
    "it had not polled for max.poll.interval.ms": (
        COMMITS._replace(since_commit_ms=14_000),
        {"poll_ms": 12_000},
        LEFT,
    ),
    "it may have committed in the background after its last poll": (
        COMMITS._replace(since_commit_ms=10_500),
        {"poll_ms": 12_000},
        LEFT,
    ),
    "its JoinGroup had no rebalance timeout, so its session timeout is used": (
        COMMITS._replace(since_commit_ms=13_500, poll_ms=10_001),
        {"poll_ms": 10_000},
        EXPIRED,
    ),
    "static members do not leave when they poll too late": (
        COMMITS._replace(since_commit_ms=14_000, poll_ms=12_000),
        {"is_static": True},
        EXPIRED,
    ),
    "it commits unchanged positions": (
        COMMITS._replace(since_commit_ms=13_500),
        {"idle_commits": 10, "idle_in_group": 10},
        EXPIRED,
    ),
    "another client of its group commits unchanged positions": (
        COMMITS._replace(since_commit_ms=13_500),
        {"idle_in_group": 10},
        EXPIRED,
    ),
    "the others waited for as long as they may": (
        COMMITS._replace(since_commit_ms=61_000),
        {"phase": PHASE._replace(others_silent_ms=59_500)},
        TIMED_OUT,
    ),
    "it is static": (COMMITS._replace(since_commit_ms=13_500), {"is_static": True}, EXPIRED),
    "the coordinator moved": (
        CLASSIC,
        {"since_alive_ms": None, "same_coordinator": False},
        EXPIRED,
    ),
}


@pytest.mark.parametrize(("before", "more", "end"), RAISES.values(), ids=RAISES.keys())
def test_evidence_makes_an_end_likelier(
    before: DepartureFacts, more: dict[str, object], end: RebalanceCause
) -> None:
    """Each by itself, wherever it leads in the end."""
    after = DepartureFacts(**{**before._asdict(), **more})
    assert shares(after)[end] > shares(before)[end]


def test_an_application_goes_as_a_whole() -> None:
    """An unknown one went with two that left; where others stay, that says little."""
    left = COMMITS._replace(since_commit_ms=20, phase=EMPTIED, gone_together=2)
    unknown = CLASSIC._replace(phase=EMPTIED, gone_together=2)
    alone = shares(unknown)[LEFT]
    *_, with_others = posteriors_of([left, left, unknown])
    assert with_others.shares.left > alone + 0.1
    stays = [facts._replace(phase=PHASE) for facts in (left, left, unknown)]
    *_, with_some = posteriors_of(stays)
    assert with_some.shares.left - shares(stays[-1])[LEFT] < 0.1


def test_an_administrator_removes_all_members_at_once() -> None:
    """Of two that are gone together, one left right after a commit: the other was not removed either."""
    left = COMMITS._replace(since_commit_ms=20, phase=EMPTIED, gone_together=1)
    other = left._replace(since_commit_ms=2_500, back_ms=2_000)
    *_, with_other = posteriors_of([left, other])
    assert with_other.shares.removed < shares(other)[REMOVED] / 5


def test_whether_a_commit_was_in_time_matters_only_right_after_it() -> None:
    """Of a leave long after the last commit it says nothing, as that was none on closing."""
    in_time, unsteady = EVERY_5S, EVERY_5S._replace(longest_ms=7_000)
    for since_ms, is_evidence in ((3_000, True), (15_000, False)):
        facts = COMMITS._replace(since_commit_ms=since_ms, rhythm=in_time)
        scores = dict(posterior_of(facts).scores)
        assert (scores[EvidenceKind.BEAT].left < -0.3) is is_evidence
        scores = dict(posterior_of(facts._replace(rhythm=unsteady)).scores)
        assert scores[EvidenceKind.BEAT].left == 0


def test_no_client_can_break_the_prior_of_a_habit() -> None:
    """However long a client has shown a habit, a leave without it stays possible."""
    facts = COMMITS._replace(since_commit_ms=13_500, closed_with_commit=10**6, idle_commits=10**6)
    assert 0 < shares(facts)[LEFT] < 1 - SURE


times = st.integers(0, 10**7)
sessions = st.sampled_from([(), (6_000,), (6_000, 45_000), (1,)])
rhythms = st.none() | st.builds(
    CommitRhythm, st.integers(1, 10**6), times, times, st.none() | times
)
phases = st.none() | st.builds(
    Phase,
    times,
    st.none() | times,
    rhythms,
    times,
    st.integers(0, 10_000),
    st.integers(0, 50),
    st.booleans(),
    st.booleans(),
)


@given(
    st.builds(
        DepartureFacts,
        gone_ms=times,
        is_classic=st.booleans(),
        is_static=st.booleans(),
        sessions_ms=sessions,
        is_session_known=st.booleans(),
        poll_ms=st.none() | times,
        since_alive_ms=st.none() | times,
        since_seen_ms=times,
        since_commit_ms=st.none() | times,
        commit_renews_session=st.booleans(),
        same_coordinator=st.booleans(),
        rhythm=rhythms,
        idle_commits=times,
        idle_in_group=times,
        closed_with_commit=times,
        closed_without_commit=times,
        phase=phases,
        back_ms=st.none() | times,
        away_ms=st.none() | times,
        others_since_ms=st.none() | times,
    )
)
def test_whatever_the_facts_the_shares_are_probabilities_and_have_a_sentence(
    facts: DepartureFacts,
) -> None:
    """Also of a log whose times make no sense."""
    posterior = posterior_of(facts)
    assert sum(posterior.shares) == pytest.approx(1)
    assert all(0 <= share <= 1 for share in posterior.shares)
    weighed = [kind for kind, _ in EVIDENCE]
    signs = [sign.kind for sign in SIGNS if sign.shows(facts)]
    assert [kind for kind, _ in posterior.scores] == [*weighed, *signs]
    for cause in (UNDECIDED, posterior.ranked[0][0]):
        assert reason_text(reason_of("A", facts, posterior, cause))
