"""What the reasons in a broker's log mean: tables from words to causes."""

import pytest

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.reasons import (
    LoggedTrigger,
    departure_of_fact,
    rejoin_reason,
    trigger_of,
)

K = FactKind


@pytest.mark.parametrize(
    ("text", "role", "members", "instance_id", "client_reason"),
    [
        ("Adding new member a-1 with group instanceid None", "join", ("a-1",), None, None),
        (
            "Adding new member i-1 with group instance id Some(i); client reason: not provided",
            "join",
            ("i-1",),
            "i",
            None,
        ),
        (
            (
                "Adding new member a-1 with group instance id null; client reason: need to re-join with "
                "the given member-id: a-1"
            ),
            "join",
            ("a-1",),
            None,
            "need to re-join with the given member-id: a-1",
        ),
        ("explicit `LeaveGroup` request for (a-1) members", "leave", ("a-1",), None, None),
        ("explicit `LeaveGroup` request for (, ) members", "leave", ("", ""), None, None),
        ("removing member a-1 on LeaveGroup", "leave", ("a-1",), None, None),
        (
            "Removing member a-1 on LeaveGroup; client reason: scaled down",
            "leave",
            ("a-1",),
            None,
            "scaled down",
        ),
        ("removing member a-1 on heartbeat expiration", "expiry", ("a-1",), None, None),
        ("leader a-1 re-joining group during Stable", "leader", ("a-1",), None, None),
        (
            "Leader a-1 re-joining group during Stable; client reason: cached metadata has changed",
            "leader",
            ("a-1",),
            None,
            "cached metadata has changed",
        ),
        (
            "Updating metadata for member a-1 during CompletingRebalance; client reason: x",
            "follower",
            ("a-1",),
            None,
            "x",
        ),
        ("Updating metadata for member a-1", "leader or follower", ("a-1",), None, None),
        (
            "Updating metadata for static member i-1 with instance id i; client reason: not provided",
            "replacement",
            ("i-1",),
            "i",
            None,
        ),
        (
            (
                "Group's selectedProtocol will change because static member i-1 with instance id i "
                "joined with change of protocol; client reason: not provided"
            ),
            "replacement",
            ("i-1",),
            "i",
            None,
        ),
        (
            "Removing Set(a-1, a-2) on pending sync request expiration",
            "not synced",
            ("a-1", "a-2"),
            None,
            None,
        ),
        (
            "Downgrade group g from consumer to classic for member leaving",
            "downgrade",
            (),
            None,
            None,
        ),
    ],
)
def test_what_set_a_rebalance_off(
    text: str,
    role: str,
    members: tuple[str, ...],
    instance_id: str | None,
    client_reason: str | None,
) -> None:
    """Each reason of each release names who did what; a client that says nothing has no reason."""
    assert trigger_of(text) == LoggedTrigger(role, members, instance_id, client_reason)


def test_an_unknown_reason_decides_nothing() -> None:
    """The wording of a future release is not guessed at."""
    assert trigger_of("The moon is full") is None


@pytest.mark.parametrize(
    ("client_reason", "cause"),
    [
        ("cached metadata has changed", "topic_metadata_changed"),
        (
            "subscription has changed from [a] at the beginning of the rebalance to [b]",
            "subscription_changed",
        ),
        ("need to revoke partitions and re-join", "cooperative_follow_up"),
        ("After revoking what we lost from a rebalance", "cooperative_follow_up"),
        ("triggered followup rebalance scheduled for 0", "cooperative_follow_up"),
        ("triggered followup rebalance scheduled for 1795390940074", None),
        (
            "rejoining because we are the leader and noticed some topics have new partitions",
            "topic_metadata_changed",
        ),
        ("partitions were added to a subscribed topic", "topic_metadata_changed"),
        ("cached metadata has changedx", None),
        ("group is already rebalancing", None),
        ("rebalance enforced by user", None),
        (None, None),
    ],
)
def test_why_a_client_joined_again(client_reason: str | None, cause: str | None) -> None:
    """Reasons of the main clients that are causes of the closed list; others are none."""
    reason = rejoin_reason(client_reason)
    assert (None if reason is None else reason.cause) == cause


@pytest.mark.parametrize(
    ("kind", "text", "setting", "cause", "alternatives"),
    [
        (K.MEMBER_LEFT, None, "", "member_left", ()),
        (K.MEMBER_EXPIRED, None, "", "member_session_expired", ()),
        (K.MEMBERS_NOT_REJOINED, None, "", "member_rebalance_timeout", ()),
        (K.MEMBER_FENCED, "the member session expired", "", "member_session_expired", ()),
        (K.MEMBER_FENCED, "its session expired", "away", "static_member_expired", ()),
        (
            K.MEMBER_FENCED,
            "it failed to transition from epoch 2 within 6000ms",
            "",
            "member_rebalance_timeout",
            (),
        ),
        (K.MEMBER_FENCED, "of reasons to come", "", None, ()),
        (K.MEMBER_LEFT_BY_REQUEST, "the consumer is being closed", "", "member_left", ()),
        (K.MEMBER_LEFT_BY_REQUEST, "consumer poll timeout has expired.", "", "member_left", ()),
        (K.MEMBER_LEFT_BY_REQUEST, "not provided", "", "member_left", ()),
        (
            K.MEMBER_LEFT_BY_REQUEST,
            "not provided",
            "static",
            "member_removed_by_admin",
            ("member_left",),
        ),
        (K.MEMBER_LEFT_BY_REQUEST, "not provided", "company", "member_removed_by_admin", ()),
        (
            K.MEMBER_LEFT_BY_REQUEST,
            "member was removed by an admin",
            "",
            "member_removed_by_admin",
            (),
        ),
        (
            K.MEMBER_LEFT_BY_REQUEST,
            "scaled down",
            "",
            "member_left",
            ("member_removed_by_admin",),
        ),
        (
            K.MEMBER_LEFT_BY_REQUEST,
            "scaled down",
            "static",
            "member_removed_by_admin",
            ("member_left",),
        ),
        (
            K.REBALANCE_PREPARED,
            "removing member a on heartbeat expiration",
            "",
            "member_session_expired",
            (),
        ),
        (
            K.REBALANCE_PREPARED,
            "Removing [a] on pending sync request expiration",
            "",
            "member_rebalance_timeout",
            (),
        ),
        (
            K.REBALANCE_PREPARED,
            "explicit `LeaveGroup` request for (a, b) members",
            "",
            "member_removed_by_admin",
            (),
        ),
        (K.REBALANCE_PREPARED, "Leader a re-joining group during Stable", "", None, ()),
    ],
)
def test_why_a_member_is_gone(
    kind: FactKind,
    text: str | None,
    setting: str,
    cause: str | None,
    alternatives: tuple[str, ...],
) -> None:
    """A line decides as far as its words go: who removed a member is open where both are usual and none is named."""
    fact = BrokerFact(kind, 0, "g", "1", "server.log:1", member_id="a", text=text)
    found = departure_of_fact(
        fact,
        by_another=setting == "company",
        was_away=setting == "away",
        is_static=setting in {"static", "away"},
    )
    assert (found and (found.cause, found.alternatives)) == (
        None if cause is None else (cause, alternatives)
    )
