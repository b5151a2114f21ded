"""Every kind of finding as a script, and next to it the nearest thing that is none."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from rebalance_audit.sim.clients.client_config import Committing, Library, Traffic
from rebalance_audit.sim.options import Protocol
from workshop.accuracy import deeds
from workshop.accuracy.script import CLASSIC, CONSUMER, Script, nothing
from workshop.accuracy.stage import Setting, Stage


def _script(
    name: str, play: Callable[[Stage], object], expected: str = "", also: str = "", **more: Any
) -> Script:
    return Script(name, play, frozenset(expected.split()), frozenset(also.split()), **more)


LONG_KEPT: Final = Setting(
    members=2, hours=200, has_bystander=False, commit_interval_ms=60_000, retention_days=30
)
TWO: Final = Setting(members=2)
STATIC: Final = Setting(static=True)
PATIENT: Final = Setting(members=2, max_poll_interval_ms=1_800_000)
COMMITTING: Final = Setting(commit_interval_ms=5_000, has_bystander=False, hours=2)
PATIENT_COMMITTING: Final = replace(COMMITTING, max_poll_interval_ms=36_000_000)
EVERYBODY: Final = range(Setting.members)
COOPERATIVE: Final = ("cooperative-sticky",)

SCRIPTS: Final = (
    Script("a quiet day", setting=Setting(members=3, hours=24)),
    Script("forty members start within five seconds", setting=Setting(members=40, hours=0.5)),
    _script("one restart", deeds.one_restart),
    _script(
        "8 minutes to give up partitions",
        partial(deeds.slow_handover, 480_000),
        "stuck_group slow_revoker",
        protocols=CONSUMER,
        setting=PATIENT,
        culprit=0,
    ),
    _script(
        "2 minutes to give up partitions",
        partial(deeds.slow_handover, 120_000),
        "slow_revoker",
        protocols=CONSUMER,
        setting=PATIENT,
        culprit=0,
    ),
    _script(
        "5 s to give up partitions",
        partial(deeds.slow_handover, 5_000),
        protocols=CONSUMER,
        setting=TWO,
    ),
    _script(
        "a deleted topic that is not given up",
        deeds.handover_of_a_deleted_topic,
        "revoker_blocked_by_deleted_topic slow_revoker",
        "stuck_group",
        protocols=CONSUMER,
        setting=TWO,
        culprit=0,
    ),
    _script(
        "a process that stands still for 38 s while the group changes",
        partial(deeds.frozen_at_a_change, 38_000),
        "slow_member",
        protocols=CONSUMER,
        culprit=0,
    ),
    _script(
        "a process that stands still for 15 s while the group changes",
        partial(deeds.frozen_at_a_change, 15_000),
    ),
    _script(
        "one of two leaves while the other stands still for 41 s",
        deeds.last_one_frozen,
        "epoch_without_target",
        protocols=CONSUMER,
        setting=TWO,
    ),
    _script(
        "a leader that assigns for 20 s",
        deeds.one_restart,
        "slow_sync",
        protocols=CLASSIC,
        setting=Setting(assigns_for_ms=20_000, assignors=("range",)),
        of_setting=True,
    ),
    _script(
        "a leader that assigns for 3 s",
        deeds.one_restart,
        protocols=CLASSIC,
        setting=Setting(assigns_for_ms=3_000, assignors=("range",)),
    ),
    _script(
        "a process that stops working for good",
        partial(deeds.stalled, (0,), 600),
        "silent_member",
        setting=PATIENT_COMMITTING,
        culprit=0,
        lasts=True,
    ),
    _script(
        "a process that commits by hand and stops working for good",
        partial(deeds.stalled, (0,), 600),
        "silent_member",
        setting=replace(PATIENT_COMMITTING, committing=Committing.MANUAL),
        culprit=0,
        lasts=True,
    ),
    _script(
        "a process that stops working for 30 minutes until it leaves",
        partial(deeds.stalled, (0,), 40),
        "silent_member",
        "unsticky_assignment",
        setting=replace(COMMITTING, max_poll_interval_ms=1_800_000),
        culprit=0,
    ),
    _script(
        "a killed process with a session of 20 minutes",
        deeds.killed_with_a_long_session,
        "silent_member",
        setting=replace(COMMITTING, session_timeout_ms=1_200_000),
        culprit=0,
    ),
    _script(
        "a process that stops working for 4 minutes",
        partial(deeds.stalled, (0,), 4),
        setting=PATIENT_COMMITTING,
    ),
    _script(
        "a killed process that commits",
        deeds.killed_with_a_long_session,
        setting=COMMITTING,
    ),
    _script(
        "an application that stops working",
        partial(deeds.stalled, EVERYBODY, 600),
        "commits_stopped",
        setting=PATIENT_COMMITTING,
        lasts=True,
    ),
    _script(
        "an application that stops working for ten minutes",
        partial(deeds.stalled, EVERYBODY, 10),
        setting=PATIENT_COMMITTING,
    ),
    Script("clients that commit all day", setting=replace(COMMITTING, hours=6)),
    *(
        _script(
            f"{library.value}, {committing.value} commits, {traffic.value} traffic",
            partial(deeds.of_one_library, library, deeds.one_restart),
            setting=replace(COMMITTING, committing=committing, traffic=traffic),
        )
        for library in Library
        for committing in Committing
        for traffic in Traffic
        if traffic is not Traffic.STEADY
    ),
    *(
        _script(
            f"nothing more to consume, {library.value}, {committing.value} commits",
            partial(deeds.of_one_library, library, deeds.nothing_to_consume),
            setting=replace(COMMITTING, committing=committing),
        )
        for library in Library
        for committing in Committing
    ),
    _script(
        "an assignor that assigns partitions twice",
        partial(deeds.broken_assignor, deeds.twice),
        "two_owners",
        "lost_partition unbalanced_assignment",
        protocols=CLASSIC,
    ),
    _script(
        "an assignor that forgets a partition",
        partial(deeds.broken_assignor, partial(deeds.without, "orders", 3)),
        "lost_partition",
        protocols=CLASSIC,
    ),
    _script(
        "an assignor that forgets a topic",
        partial(deeds.broken_assignor, partial(deeds.without, "orders", None)),
        "lost_partition",
        protocols=CLASSIC,
    ),
    _script(
        "cooperative members that take 70 s to give up partitions",
        deeds.slow_cooperative_revocation,
        protocols=CLASSIC,
        setting=Setting(assignors=COOPERATIVE, revoke_ms=70_000, members=3),
    ),
    _script(
        "a restart every ten minutes under range",
        partial(deeds.restarts_now_and_then, 10),
        "unsticky_assignment",
        protocols=CLASSIC,
        setting=Setting(members=8, hours=6),
    ),
    _script(
        "a restart every ten minutes under cooperative-sticky",
        partial(deeds.restarts_now_and_then, 10),
        protocols=CLASSIC,
        setting=Setting(members=8, hours=6, assignors=COOPERATIVE),
    ),
    _script(
        "a restart every ten minutes under uniform",
        partial(deeds.restarts_now_and_then, 10),
        protocols=CONSUMER,
        setting=Setting(members=8, hours=6),
    ),
    _script(
        "range over topics of one partition",
        nothing,
        "unbalanced_assignment",
        lasts=True,
        of_setting=True,
        protocols=CLASSIC,
        setting=Setting(members=3, topics=tuple(f"tiny-{number}" for number in range(4))),
    ),
    _script(
        "roundrobin over topics of one partition",
        nothing,
        protocols=CLASSIC,
        setting=Setting(
            members=3,
            topics=tuple(f"tiny-{number}" for number in range(4)),
            assignors=("roundrobin",),
        ),
    ),
    _script(
        "a static member back with another topic",
        partial(deeds.static_return, deeds.EVERYTHING),
        "static_subscription_ignored",
        "lost_partition",
        protocols=CLASSIC,
        setting=STATIC,
        culprit=1,
    ),
    _script(
        "a static member back with the same topics",
        partial(deeds.static_return, ("orders", "payments")),
        setting=STATIC,
    ),
    _script(
        "one expression written in two ways",
        partial(deeds.two_expressions, "(^orders.*)"),
        "regexes_alike",
        protocols=CONSUMER,
        setting=Setting(regex="^orders.*", topics=()),
    ),
    _script(
        "two expressions",
        partial(deeds.two_expressions, "^(orders|audit)"),
        protocols=CONSUMER,
        setting=Setting(regex="^orders.*", topics=()),
    ),
    _script(
        "a topic that comes and goes every 90 s for an hour",
        deeds.flapping_topic,
        "rebalance_loop",
        setting=Setting(topics=deeds.EVERYTHING),
        of_setting=True,
    ),
    _script(
        "a subscription that changes every 90 s for an hour",
        deeds.flapping_subscription,
        "rebalance_loop",
        "unsticky_assignment",
        culprit=0,
    ),
    _script(
        "twelve members that subscribe to one more topic in turn",
        deeds.rollout_of_a_subscription,
        setting=Setting(members=12),
    ),
    _script(
        "a process that exceeds max.poll.interval.ms every 6 minutes for two hours",
        partial(deeds.slow_polls, 6),
        "flapping_member",
        "unsticky_assignment",
        culprit=2,
    ),
    _script(
        "a process that exceeds max.poll.interval.ms every hour", partial(deeds.slow_polls, 60)
    ),
    _script(
        "twelve processes that restart every 20 s for ten minutes",
        deeds.crash_loops,
        "rebalance_storm flapping_member",
        "unsticky_assignment",
        setting=Setting(members=12, hours=1.5),
        times=12,
    ),
    _script(
        "four of six processes killed at once",
        deeds.killed_together,
        "session_expiries",
        "unsticky_assignment",
    ),
    _script("four kills in two hours", deeds.killed_now_and_then),
    _script(
        "an instance id contested every 90 s for two hours",
        deeds.contested_instance,
        "instance_id_conflict",
        protocols=CLASSIC,
        setting=STATIC,
        culprit=1,
    ),
    _script(
        "an instance id asked for in vain",
        deeds.refused_twin,
        "instance_id_refused",
        protocols=CONSUMER,
        setting=STATIC,
    ),
    _script(
        "a rolling restart of six",
        partial(deeds.rolling_restart, 0.5),
        "deploy_wave",
        "unsticky_assignment",
    ),
    _script(
        "a rolling restart of forty in ten minutes",
        partial(deeds.rolling_restart, 0.25),
        "deploy_wave",
        "unsticky_assignment",
        setting=Setting(members=40, hours=2, has_bystander=False),
    ),
    _script(
        "a rolling restart of static members", partial(deeds.rolling_restart, 0.5), setting=STATIC
    ),
    _script(
        "a restart of one process every twenty minutes",
        partial(deeds.rolling_restart, 20),
        "",
        "unsticky_assignment",
    ),
    _script(
        "members of cooperative-sticky that also know range",
        partial(deeds.restarts_now_and_then, 20),
        "eager_under_cooperative_name",
        "unsticky_assignment",
        protocols=CLASSIC,
        setting=Setting(assignors=("cooperative-sticky", "range")),
    ),
    _script(
        "half of six members move to the consumer protocol",
        partial(deeds.change_some, range(3), Protocol.CONSUMER, 1),
        "half_finished_migration",
        protocols=CLASSIC,
        lasts=True,
    ),
    _script(
        "six members move to the consumer protocol in turn",
        partial(deeds.change_some, range(6), Protocol.CONSUMER, 1),
        "deploy_wave",
        "unsticky_assignment",
        protocols=CLASSIC,
    ),
    _script(
        "twenty members move to the consumer protocol, one every 4 minutes",
        partial(deeds.change_some, range(20), Protocol.CONSUMER, 4),
        "",
        "deploy_wave unsticky_assignment",
        protocols=CLASSIC,
        setting=Setting(members=20, hours=2.5, has_bystander=False),
    ),
    _script(
        "six members go back to the classic protocol in turn",
        partial(deeds.change_some, range(6), Protocol.CLASSIC, 1),
        "protocol_downgraded deploy_wave",
        "unsticky_assignment",
        protocols=CONSUMER,
    ),
    _script(
        "a broker that dies with three of six processes",
        partial(deeds.move, range(3)),
        "coordinator_moved",
        "session_expiries unsticky_assignment",
    ),
    _script("a broker that dies alone", partial(deeds.move, ())),
    _script("a broker that dies, and one of six processes restarts", deeds.move_and_one_stop),
    _script(
        "a broker that dies with all processes",
        partial(deeds.move, range(6)),
        "group_not_served coordinator_moved",
        "session_expiries",
        protocols=CONSUMER,
    ),
    _script(
        "segments lost in the middle of the log",
        partial(deeds.restarts_now_and_then, 5),
        "log_gap",
        "unsticky_assignment",
        setting=Setting(segment_bytes=6_000),
        damage=deeds.lost_segments,
    ),
    _script(
        "a broker log of another cluster",
        deeds.one_restart,
        "broker_log_contradiction",
        protocols=CLASSIC,
        damage=deeds.altered_broker_log,
    ),
    _script(
        "a consumer of the other protocol that the coordinator refuses",
        deeds.one_restart,
        "coordinator_trouble",
        protocols=CLASSIC,
        damage=deeds.refused_upgrade,
    ),
    _script(
        "a group without members for eight days",
        deeds.gone,
        "dead_group",
        setting=LONG_KEPT,
        lasts=True,
    ),
    _script(
        "a group without members for two days", deeds.gone, setting=replace(LONG_KEPT, hours=50)
    ),
)
"""Kinds of findings; those that need a lake are missing: hanging_transaction, topic_growth, sources_differ."""
