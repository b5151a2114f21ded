"""Sentences on a prediction: what its difference comes from, what it costs, what it takes for granted."""

from collections.abc import Iterator
from typing import Final

from rebalance_audit.sentences.words import counted, duration
from rebalance_audit.whatif.answer import Answer, Prediction
from rebalance_audit.whatif.script import ProcessEnd, Script, Settings
from rebalance_audit.whatif.tracker import CLOSED, KILLED, NEW_PARTITION, REASONS, REVOKED, Outcomes
from rebalance_audit.whatif.variant import CLASSIC, CONSUMER, COOPERATIVE, deploys_of

_NOTABLE: Final = 0.1
"""A part of the time without owner is named if it changes by this share of the whole."""
_PARTS: Final = {
    CLOSED: "Partitions of processes that closed waited",
    KILLED: "Partitions of processes that died waited",
    REVOKED: "Rebalances kept partitions from their owners",
    NEW_PARTITION: "New partitions waited for their first owner",
}


_PROTOCOL_COSTS: Final = {
    CONSUMER: (
        "It needs brokers of release 4.0 and clients that speak KIP-848; assignors that run in the client are gone.",
        (
            "Session timeout and heartbeat interval become settings of the brokers or of the group"
            " (consumer.session.timeout.ms, consumer.heartbeat.interval.ms)."
        ),
    ),
    CLASSIC: (
        "The consumer protocol's settings of the group no longer count; those of the clients do.",
    ),
}
"""What it costs to go over to a protocol."""


def reasons(answer: Answer, prediction: Prediction) -> Iterator[str]:
    """What the difference comes from, the largest part first."""
    control, outcomes = answer.control, prediction.outcomes
    yield _rebalances(control, outcomes)
    was, now = control.records_delayed.median, outcomes.records_delayed.median
    if abs(now - was) >= _NOTABLE * max(was, now, 1):
        yield f"About {counted(now, 'record')} delayed instead of {was:,}."
    yield from _mechanism(answer.script.settings, prediction.settings)
    before, after = (each.unowned_ms_by_reason for each in (control, outcomes))
    whole = max(control.unowned_ms.median, outcomes.unowned_ms.median, 1)
    for reason in sorted(REASONS, key=lambda reason: -abs(after[reason] - before[reason])):
        if abs(after[reason] - before[reason]) >= _NOTABLE * whole:
            took, had_taken = duration(after[reason]), duration(before[reason])
            yield f"{_PARTS[reason]} for {took} of partition time, instead of {had_taken}."


def _rebalances(control: Outcomes, outcomes: Outcomes) -> str:
    was, now = control.rebalances.median, outcomes.rebalances.median
    moved_was, moved_now = control.partitions_moved.median, outcomes.partitions_moved.median
    rebalances = _changed(counted(now, "rebalance"), now, was)
    moved = _changed(f"{counted(moved_now, 'partition')} moved", moved_now, moved_was)
    return f"{rebalances}, and {moved}."


def _changed(what: str, now: int, was: int) -> str:
    return f"{what}, as before" if now == was else f"{what} instead of {was:,}"


def _mechanism(before: Settings, after: Settings) -> Iterator[str]:
    if after.is_static and not before.is_static:
        yield "A process that restarts within its session takes its partitions back without a rebalance."
    if before.is_static and not after.is_static:
        yield "A process that closes leaves the group at once, and the others take over its partitions."
    if after.protocol == CONSUMER and before.protocol == CLASSIC:
        yield "The group never stops as a whole: only members whose partitions move give them up."
    if after.protocol == CLASSIC and before.protocol == CONSUMER:
        yield "Every member has to rejoin in every rebalance."
    elif COOPERATIVE in after.assignors and COOPERATIVE not in before.assignors:
        yield (
            "Members keep their partitions while they rejoin; what moves is revoked first and"
            " handed out in a second generation."
        )


def costs(answer: Answer, prediction: Prediction) -> Iterator[str]:
    """What the change costs or needs."""
    script, before, after = answer.script, answer.script.settings, prediction.settings
    later_ms = after.session_timeout_ms - before.session_timeout_ms
    if later_ms > 0:
        yield f"A crash is noticed {duration(later_ms)} later."
    elif later_ms < 0:
        yield (
            f"A process that is suspended for {duration(after.session_timeout_ms)} loses its partitions;"
            f" that took {duration(before.session_timeout_ms)}."
        )
    if after.is_static and not before.is_static:
        yield from _static_costs(script, after, prediction)
    if after.protocol != before.protocol:
        yield from _PROTOCOL_COSTS[after.protocol]
    if (
        after.protocol == before.protocol == CLASSIC
        and COOPERATIVE in after.assignors
        and COOPERATIVE not in before.assignors
    ):
        yield (
            "The change takes two rolling restarts: first both assignors, then cooperative-sticky alone"
            " (KIP-429)."
        )
    if after.heartbeat_interval_ms < before.heartbeat_interval_ms:
        times = before.heartbeat_interval_ms / after.heartbeat_interval_ms
        yield f"The coordinator gets {times:.1f} times as many heartbeats."
    longest_ms = prediction.outcomes.longest_stop_ms.median
    before_ms = answer.control.longest_stop_ms.median
    if longest_ms > before_ms + max(1_000, before_ms // 10):
        yield f"The longest stop of a partition is {duration(longest_ms)} instead of {duration(before_ms)}."


def _static_costs(script: Script, after: Settings, prediction: Prediction) -> Iterator[str]:
    restart = script.habits.restart_ms
    took = (
        "No instance came back under its name in this log, and only such restarts gain."
        if restart is None
        else f"Restarts in this group mostly took {duration(restart.low)} to {duration(restart.high)}."
    )
    yield f"While an instance is down, its partitions are not read. {took}"
    yield f"An instance that is removed for good keeps its partitions for {duration(after.session_timeout_ms)}."
    yield "Every process needs a group.instance.id of its own that a restart keeps."
    if after.protocol == CONSUMER:
        refused = prediction.outcomes.refused_returns.median
        starts = f": {counted(refused, 'start')} would have been refused" if refused else ""
        killed = "was killed" if refused else "is killed"
        yield (
            f"A process that {killed} cannot come back before its session has ended"
            f" (UNRELEASED_INSTANCE_ID){starts}."
        )


def _arrivals(script: Script) -> str:
    if script.rates_unknown is not None or not script.rates:
        return f"Delayed records are not counted. {script.rates_unknown or ''}".rstrip()
    known = sum(each is not None for rates in script.rates.values() for each in rates)
    whole = max(known, script.most_partitions())
    others = "" if known >= whole else ", and in the others at the mean of their topic"
    return (
        f"Records arrive at the mean rate of the window, which commits show for {known:,} of"
        f" {counted(whole, 'partition')}{others}."
    )


def assumptions(answer: Answer) -> Iterator[str]:
    """What every number leans on."""
    script = answer.script
    yield from script.assumptions
    ends = [
        life for instance in script.instances for life in instance.lives if life.end is not None
    ]
    open_ends = sum(max(life.ends.values()) < 0.9 for life in ends)
    if open_ends:
        yield (
            f"The log leaves open how {open_ends:,} of {counted(len(ends), 'process', 'processes')} ended:"
            " each run draws it by the odds in the script."
        )
    if any(ProcessEnd.KILLED in life.ends for life in ends):
        yield "A process that died did so one session before its membership ended, give or take a heartbeat."
    share = answer.parts[0].share
    if share < 1:
        yield (
            f"The history is long: each run plays {share:.0%} of it, another part each, and its losses are scaled to"
            " the whole; --seeds N plays all of it N times."
        )
    if not deploys_of(script) and any(each.change.deploy for each in answer.predictions):
        yield "The log shows no deploy, so --deploy changes nothing."
    yield _arrivals(script)
    yield "The same processes would have started, ended and been suspended at the same moments."
    yield "Clients behave as Kafka's Java client does, the coordinator as that of release 4.3."
