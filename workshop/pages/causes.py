"""docs/causes.md: what each cause looks like in the log, from the table that says so."""

import sys
from pathlib import Path
from typing import Final

from rebalance_audit.audit.causes.bump_rules import BUMP_RULES, RELEASES, WRITE_ORDERS, BumpRule
from rebalance_audit.audit.causes.patterns import CAUSE_PATTERNS, Look
from rebalance_audit.audit.thresholds import DepartureRules
from rebalance_audit.audit.verdicts.cause import DEFINITIONS, RebalanceCause
from rebalance_audit.resources import checkout_root
from rebalance_audit.wire.schema import record_schemas
from workshop import generated_files

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

The column `role` separates what *began* an epoch from what else happened in it, *meanwhile*: joins after the first
one of a group that was empty, what a broker's log shows to have happened in a join phase that something else began, a
static member's return in the write of an epoch that the topics began. As causes these are *proven* only by a broker's
log, or where what began the epoch is of the same kind.

<!-- written by `python -m workshop.pages.causes --write` -->
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

_ABSENT: Final = """\
## What a record does not say

A field that came with a later release is missing from older records, and a tagged field that has its default is left
out. So a missing field may mean that there is none, or nothing at all: what is *unknown* is never taken for a *no*. The
fields that may be missing:

| record | field | from release | missing in older records | missing in later records |
|---|---|---|---|---|
"""

_TAIL: Final = """\
## What topics were like

From 4.1 on the record of an epoch has one hash over all topics that the group subscribes to: their ids, names,
partitions and racks. If the cluster's metadata log lies beside the segments (`__cluster_metadata-0`, with its
snapshots), the hash is recomputed from it, for consumer and share groups. Equal hashes prove which topics the group
subscribed to and what they were like, so two of them show what differs:

- a subscribed topic was created, deleted, got partitions or other racks: *topic metadata changed*, *proven*, with the
  topic's name. If the request also brought something that always bumps, it happened *meanwhile*;
- no topic changed, but the group subscribes to fewer or more: *subscription changed*. An expression that is given up
  bumps nothing itself, and its topics are missed only at the next comparison;
- the recorded hash stands for none of the topics' states: members that the log does not have must be there, and the
  topics are not *proven* to be the cause.

What every topic was like, and when, is in the column `shapes` of `gold.topics`.

## How a member departed

An explicit leave, an expired session, a rebalance timeout and a removal by an administrator run the same code in the
coordinator and write the same records. So the end of a member is weighed: what Kafka's protocol rules out first, then
the evidence that the log holds, with what each client has shown of its habits. From a probability of 0.95 on the
cause is *probable*; below, it is *member departed*, with the ends in `alternatives` and how likely each is in
`alternative_weights`. [departures.md](departures.md) has the account of it and every number.

Three settings hold what the log does not: `audit.consumer_session_timeout_ms` (the brokers'
`group.consumer.session.timeout.ms`; without it, {shortest} ms, `audit.shortest_session_ms`, and the default of 45 s are
equally likely), `audit.rebalance_timeout_slack_ms` ({slack} ms) and `audit.answer_within_ms` ({answer} ms).

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
  record that has no change, a step that Kafka's CurrentAssignmentBuilder does not take, a join without the
  assignment that each member gets when it comes, a partition that a member has although another never gave it up, or a
  resolved expression that no member has. From there on every epoch is marked `gap` and nothing is proven, until each
  member has written its subscription again and reached a later epoch, or no member is left, or the group starts over.
  What compaction left at the start of a log is the group as it was, so two consecutive epochs are enough there.
- **A lost record that nothing contradicts** can still have moved partitions. So where a partition of the log lacks a
  record anywhere, ownership is marked, and times without owner are null, wherever a member did not do in time what a
  living one does with its next heartbeat; where it lost what no record had asked it to give up, or went while it had
  partitions to give up; where what it takes is not known to have been free; and where no record shows that an epoch
  converged before the next one began. A classic generation is marked if its record may be the repetition that a static
  member's return leaves: it shows the member under a new id, or comes long after the join phase. Not every lost record
  can be seen so: most that are left are one of several steps of a waiting member, soon after each other in one epoch.
  Segments show which offsets of a partition have no record, to `inspect` as to a lake. Where some
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

## What is not released

Rules for 4.5 follow Kafka's trunk. No released broker writes what they are about, so they make no cause of its log less
certain.

- **Altered offsets of a share group** raise its epoch from 4.5 on (KAFKA-20910). Up to 4.4 the request writes
  partitions alone. A group that such a request made has epoch 0 up to 4.2 and 1 from 4.3 on. No record shows which, so
  its epoch is unknown until a member joins.
- **Warm-up tasks** of streams groups: in trunk the epoch also rises when one has caught up, with the same members and
  the same target (KAFKA-20665). 4.4.0 plans no warm-up tasks, so no log holds such an epoch, and there is no rule for
  it yet.
- **Assignors** that a cluster brings itself (`group.consumer.assignors`, from 4.4 on `group.streams.assignors`) need no
  release of this program: an assignor is a name, and any name is taken as it is.

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
    return "\n".join([*lines, "", *_bump_rules(), *_absences(), tail])


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


def _absences() -> list[str]:
    cells = (
        (message, field, absence.release, absence.before, absence.since or "never missing")
        for (message, field), absence in record_schemas().absences().items()
    )
    return [f"{_ABSENT.rstrip()}", *(f"| {' | '.join(row)} |" for row in cells), ""]


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
