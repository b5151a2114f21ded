"""docs/causes.md: what each cause looks like in the log, from the table that says so."""

import sys
from pathlib import Path
from typing import Final

from rebalance_audit.audit.causes.bump_rules import BUMP_RULES, RELEASES, WRITE_ORDERS, BumpRule
from rebalance_audit.audit.causes.cause import DEFINITIONS, RebalanceCause
from rebalance_audit.audit.causes.departures import DepartureRules
from rebalance_audit.audit.causes.patterns import CAUSE_PATTERNS, Look
from rebalance_audit.resources import checkout_root
from tools import generated_files

PAGE: Final = "docs/causes.md"

_HEAD: Final = """\
# Causes

Records of `__consumer_offsets` do not say why they were written. The audit takes the records of one *write* together
(one request or one timer of the coordinator leaves records with one timestamp and contiguous offsets), applies them
as the coordinator does, and looks at what they changed. The table lists each cause, what it looks like in the log, and
how sure it can be at best. How often that is right: [accuracy.md](accuracy.md). Brokers' logs decide what the records
leave open: [broker-logs.md](broker-logs.md).

*Consumer* stands for groups whose coordinator assigns: the consumer protocol, share and streams groups. There every
group epoch has a record of its own, written with the change that caused it. *Classic* groups write one record per
generation, when the leader's assignment arrives. It is a picture of the outcome, and causes follow from its difference
to the previous picture. The difference is a fact, but what began the join phase may have left no record: a member that
joined and left again, a leader that rejoined, a subscription that changed back. So causes of a classic generation are
*probable*, with everything that leaves no trace as alternatives. Only if the group was empty before can nothing but a
join have begun it; that is *proven*. Its first member to join leads the generation.

The column `role` tells apart what *began* an epoch and what else happened in it, *meanwhile*: joins after the first
one of a group that was empty, what a broker's log shows to have happened in a join phase that something else began, a
static member's return in the write of an epoch that the topics began. As causes these are never *proven*, unless what
began the epoch is of the same kind.

<!-- written by `python -m tools.pages.causes --write` -->
"""

_RULES: Final = """\
## What bumps a group epoch

Kafka's coordinator decides in a few places whether a request or a timer raises (*bumps*) the group epoch. What cannot
bump is never a cause, however close it was written to the epoch: a join without topics, an expression that is not
resolved yet, a static member under a new id. What always bumps is *proven*, whatever else happened. What depends on
more than the records hold is *proven* only if nothing else is left. The record shows which release wrote it, up to a
point; where releases differ and the record does not decide, the row counts as *may bump*.
"""

_ORDERS: Final = """\
The records of one request have a fixed order. Records that fit none of these rows are two requests of one millisecond,
and are judged as two. `[3]` is a record of type 3, `[3t]` its tombstone; `?` means at most one, `*` any number.
"""

_TAIL: Final = """\
## What topics were like

From 4.1 on the record of an epoch has one hash over all topics that the group subscribes to: their ids, names,
partitions and racks. If the cluster's metadata log lies beside the segments (`__cluster_metadata-0`, with its
snapshots), the hash is recomputed from it, for consumer and share groups. Equal hashes prove which topics the group
subscribed to and what they were like, so two of them tell what differs:

- a subscribed topic was created, deleted, got partitions or other racks: *topic metadata changed*, *proven*, with the
  topic's name. If the request also brought something that always bumps, it happened *meanwhile*;
- no topic changed, but the group subscribes to fewer or more: *subscription changed*. An expression that is given up
  bumps nothing itself, and its topics are missed only at the next comparison;
- the recorded hash stands for none of the topics' states: members that the log does not have must be there, and the
  topics are not *proven* to be the cause.

What every topic was like, and when, is in the column `shapes` of `gold.topics`.

## Telling departures apart

An explicit leave, an expired session, a rebalance timeout and a removal by an administrator run the same code in the
coordinator and write the same records. Only times and the other records of the write tell them apart. In the consumer
protocol, the first rule that applies decides:

1. Other members went in the same write: one request named them all, from an administrator, or from a client library on
   behalf of many. *member removed by admin*
2. The member had left for a while (a static one does so when it closes) and did not return. *static member expired*
3. The member was told to give up partitions, and was removed at most {slack} ms after its rebalance timeout. A
   deleted topic can be the reason: the Java client retries its commit for the deleted partition until the
   timeout. *member rebalance timeout*
4. The member went exactly as the timer of its last recorded heartbeat fires, at most 100 ms later: after the session of
   `audit.consumer_session_timeout_ms`, or, if that is not set, the default of 45 s or the shortest. It did not just
   commit as clients do that close. *member session expired*
5. The member went some heartbeat intervals of 5 s, the default, and a session after its last recorded heartbeat, at
   most 100 ms later, and at most 12 intervals: delays add up. Nor did it just commit as clients do that close. It may
   have committed less than a session before if its session is no longer than `request.timeout.ms` (30 s by default): a
   client that waits for the answer to a heartbeat sends no other. *member session expired*
6. The member committed offsets less than two thirds of a session before it went. Who commits is alive, and
   heartbeats come more often than that. Where the session is not known, less than the shortest session does, if the
   member had not been silent for longer than before. It *left*, or was *removed by an administrator* if it is
   static. If it had stopped committing for longer than ever before, and than two thirds of a session, while the
   others went on, and wrote no record for as long as a session: *member session expired*. A single commit in a
   transaction does not count, since the coordinator takes those of old producers without a member id.
   If its last commit is as old as its rebalance timeout, exactly or by up to one pause of its rhythm more, it *left* by
   itself: clients commit as they poll, and leave if they have not polled for `max.poll.interval.ms`, which they send as
   their rebalance timeout. Not if a session may have ended just then. Who goes still later did not leave by itself.
   A member that always had something to commit, in many commits of which none was late, has stopped if one is missing
   and another member was at work since.
7. The member wrote a record more recently than its session lasts: it *left*, or was *removed by an administrator* if it
   is static, since static members only leave for a while. The broker's `group.consumer.session.timeout.ms` is not in
   the log; set it with `audit.consumer_session_timeout_ms` (or
   `REBALANCE_AUDIT_AUDIT__CONSUMER_SESSION_TIMEOUT_MS`). Otherwise no session is taken to be shorter
   than {shortest} ms (`audit.shortest_session_ms`).
8. The member had not answered a new target for {answer} ms (`audit.answer_within_ms`) or more, while the coordinator
   was available: each living member does so with its next heartbeat. *member session expired*
9. There was exactly one younger member of the same client and host: the process had been restarted without
   leaving. *member session expired*
10. The member is static: on closing it would have left for a while. *member session expired*
11. Otherwise *member departed*, with what is not excluded as alternatives: a member of a stable group writes nothing
    but commits, so without them a leave and an expiry look alike.

A member that rule 11 leaves open *left* if another one had done so at most 100 ms before: applications stop as a whole,
while each session ends by itself, and removals come in one request.

If a member id joins again, and so begins the next epoch, it had not closed: clients keep their id until then. Where it
had committed more recently than `max.poll.interval.ms` before its end, it had not left for late polling either. If it
was away for no longer than a heartbeat, and its commits had come as always, it was *removed by an administrator*; else
its session *expired*.

A classic group's record shows when its join phase ended. All timers of its members restart then, and all of them are
in the log: a member that is gone by the end of the next join phase, sooner than its session and its rebalance timeout
last, has *left* (or was *removed*, if it is static). In classic groups each offset commit outside of a transaction
restarts the session timer too (in all releases: GroupCoordinator.doCommitOffsets,
OffsetMetadataManager.validateOffsetCommit). So a member that is gone sooner after its last commit than its session
lasts did not expire, as long as the group stayed with one coordinator. A member that had stopped committing, for longer
than ever before and longer than its session, well before the others stopped to rejoin, *expired*. So did the last
member of a group that was gone as long after its last commit as its session and one interval last. A static member
*left* if it committed before its interval was over and the others stopped right after (Java clients from 4.1 can be
told to leave on closing); if more time has passed since its last generation than its session lasts, it *expired*; the
end of a join phase drops dynamic members alone. A static member that comes back under a new id to a stable group needs
no new generation: so if nothing else explains one, it had *expired* or been *removed* before. Three or more that come
back in one generation were *removed* together, also where other static members joined or stay away.
All members of an application commit on one timer, whose interval long generations show; clients that commit all
positions start it anew with each assignment. So a commit that comes before its time has a reason of its own: the member
closed, or it rejoined. It *left*, unless its session ended to the tick as the phase did (then it had died as it
rejoined, and *expired*), or the others worked on for longer than a heartbeat. Who rejoined waits without a session, so
where its commit may be one of these, and its session had not run out since, it *left* too. A member whose last commit
came when it was due did not close. librdkafka commits on its timer what is new: a last commit that came some intervals
after the one before, to the tick, was none on closing either, though it may close without one. If it came after those
of all others, it *expired*. Kafka's Admin removes dynamic members of a classic group all at once, static ones each
(`MemberToRemove` holds an instance id). So where nobody stays, and timers went on to the end, they were *removed by an
administrator*: two that committed to the tick show it, or one that was at work for half a second more and did not
commit on closing. So were several that all joined again at once, where none of them can have closed (two of a larger
group are rather instances that somebody restarts); a session that ran out during the join phase is no objection, if the
others made no commit more before it. The same goes for static members that come back together. One that goes alone
without a commit on closing *left*: `unsubscribe` commits nothing. A member that had stopped before a fail-over, with
the others at work before and after it, *expired*, and so did all of whom none came back to the next coordinator. One
that did not come back there, though others did, *expired* too if it cannot have closed and its session is shorter than
its `max.poll.interval.ms`: the next coordinator starts all sessions anew. Where its session and its
`max.poll.interval.ms` are equally long, both remain. Where all waited for about as long as the rebalance timeout, the
one member that is missing may be the one they waited for; it was, if it went on committing meanwhile. A static member
that committed nothing in a generation which ended as long after its join phase as the rebalance timeout did not fetch
its assignment in time: *member rebalance timeout*. A dynamic member that went with all others, all of which left as far
as anything is known, *left* too, if it missed no commit: the application was stopped.

The commits of the members that stay bound when the join phase began: Java members commit as they rejoin, and then not
before they have their assignment. A timer's commit that does not come bounds it as well. Where generations before it
left no record, the member may have missed any of their phases. So where all else is open, the time from the member's
last commit to the join phase is compared with how long each end takes: none (it closed), its session (it died), its
`max.poll.interval.ms` (it polled too late, and *left*), or the rebalance timeout (it was waited for in vain). If one
alone fits, that is the cause. A phase that ends just as the session does ended with that expiry, also where late polls
fit (unless they take as long as a session); of several that are gone not with that of one whose last commit came out of
time. One that goes on for long after the others have rejoined, with one member missing, ends as that member goes: so
its end tells an expiry from polls that came too late. A leader assigns as soon as a phase is over, which is what makes
a generation leave a record: if one left none, and the leader of the one before is gone alone, for longer than its
session, it had *expired*. Where nobody else came or went, the phase began with the member's end: if its session had run
out by then since its last commit, and it had not polled too late, it *expired*, also if it had been silent as long
before. Commits in transactions show when a member was at work as well; its session can have ended a heartbeat earlier
than they tell. Otherwise it is *member departed*.

A commit names no member. It counts for the member that owned the partition at that moment; commits while nobody owned
it count for nobody. Silence tells nothing where there may have been nothing to commit: only the Java client and
kafka-python commit all positions on each interval, so that one member shows the rhythm of all; librdkafka commits what
is new. The library shows in the
subscription (Java: no rack; librdkafka: an empty one) or in the member id that a client of the consumer protocol made.

All these are *probable*, never proven.

## What can make a cause wrong, and what is done about it

- **Compaction** removes records that a later one replaces. A skipped epoch number, a missing offset
  and a member without a first record reveal it; such epochs are marked `gap`, and their causes are *possible* at best.
  Epoch 2 is taken for a group's first only if its records are those of a release that begins with 2.
- **Generations without a record**: a classic generation to which no leader assigned anything leaves none, also in a log
  that is whole. Whether its record may be lost is a matter of counting. Where a log partition has a record at each
  offset from 0 on, nothing is missing: groups that begin with generation 2 began in this log. Where a record is missing
  anywhere, because of compaction or otherwise, a generation that follows a skipped one is marked `gap`. Kafka does not
  deliver transaction markers, so a partition that has some and was read from a running cluster never counts as whole.
- **Damaged, lost or undecodable records** make what follows them incomplete in the same way: in their group, or in the
  whole partition if it is unknown whose they were. A lost batch leaves no mark of its own. In a group whose coordinator
  assigns it is revealed by a skipped epoch number, an assignment that does not follow the member's last one, a member's
  record that says nothing new, a step that Kafka's CurrentAssignmentBuilder does not take, a join without the
  assignment that each member gets when it comes, a partition that a member has although another never gave it up, or a
  resolved expression that no member has. From there on every epoch is marked `gap` and nothing is proven, until each
  member has written its subscription again and reached a later epoch, or no member is left, or the group begins anew.
  What compaction left at the start of a log is the group as it was, so two consecutive epochs are enough there.
- **A lost record that nothing contradicts** can still have moved partitions. So where a partition of the log lacks a
  record anywhere, ownership is marked, and times without owner are null, wherever a member did not do in time what a
  living one does with its next heartbeat; where it lost what no record had asked it to give up, or went while it had
  partitions to give up; where what it takes is not known to have been free; and where no record shows that an epoch
  converged before the next one began. A classic generation is marked if its record may be the repetition that a static
  member's return leaves: it shows the member under a new id, or comes long after the join phase. Not every lost record
  can be seen so: most that are left are one of several steps of a waiting member, soon after each other in one epoch.
  Segments tell which offsets of a partition have no record, to `inspect` as to a lake that took them in. Where some
  lie between two writes of a group whose coordinator assigns, ownership across them is marked, and durations across
  them are null, whatever the records look like; a hole elsewhere in the partition marks nothing. A live cluster does
  not show the markers of transactions: of a partition with offsets that only it was asked for, `watch` and a lake
  know no more than that it lacks some.
- **Two requests in one millisecond** look like one write. Records that cannot follow each other in one write are
  separated.
- **Clocks**: after a fail-over, times come from another broker. Where a stretch of ownership, an epoch's phase or a
  member's way to an epoch begins by one coordinator's clock and ends by another's, its moments are given and its
  duration is null. No duration is negative.
- **LogAppendTime**: the records have the time of their batch, some milliseconds after the request.

## What certainty costs

*Proven* is claimed less often than the share of right causes suggests, and that is meant so. When the rules of the
table above took the place of simpler ones, the share of epochs whose first cause is *proven* stayed as it was in the
captures of real brokers (classic 22.9 %, consumer 70.2 % of the epochs) and in simulated consumer groups (62.0 %
before, 62.3 % after). In simulated classic groups it is 14.9 %, and was 18.9 %; there the mix of scenarios changed as
well. What lost its proof never had one: a join that brings no topics, an expression that is not resolved yet, an
upgrade whose request also joined, an epoch after missing records.
"""


def page() -> str:
    """The text of docs/causes.md."""
    rules = DepartureRules()
    lines = [
        _HEAD,
        "| cause | meaning | in a consumer group | in a classic group |",
        "|---|---|---|---|",
    ]
    for cause in RebalanceCause:
        pattern = CAUSE_PATTERNS[cause]
        cells = (cause.value, DEFINITIONS[cause], _cell(pattern.modern), _cell(pattern.classic))
        lines.append(f"| {' | '.join(cells)} |")
    tail = _TAIL.format(
        slack=rules.rebalance_timeout_slack_ms,
        shortest=rules.shortest_session_ms,
        answer=rules.answer_within_ms,
    )
    return "\n".join([*lines, "", *_bump_rules(), tail])


def _bump_rules() -> list[str]:
    return [
        _RULES,
        "| what happens | groups | from release | Kafka |",
        "|---|---|---|---|",
        *map(_rule, BUMP_RULES),
        "",
        _ORDERS,
        "| request | records in this order |",
        "|---|---|",
        *(f"| {order.request} | {order.records} |" for order in WRITE_ORDERS),
        "",
    ]


def _rule(rule: BumpRule) -> str:
    since = {
        release: effect
        for release, effect in rule.effects.items()
        if release != RELEASES[0] or len(rule.effects) > 1
    }
    always = rule.effects[next(iter(rule.effects))].value
    effects = ", ".join(f"{release}: {effect.value}" for release, effect in since.items())
    cells = (rule.occasion.value, ", ".join(rule.groups), effects or always, rule.source)
    return f"| {' | '.join(cells)} |"


def _cell(look: Look) -> str:
    return look.pattern if look.at_best is None else f"{look.pattern}; **{look.at_best}**"


def due() -> dict[Path, str]:
    """The page in its place."""
    return {checkout_root() / PAGE: page()}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
