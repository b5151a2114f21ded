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
(one request or one timer of the coordinator leaves records with one timestamp and neighbouring offsets), applies them
as the coordinator does, and looks at what they changed. Below: each cause, what it looks like in the log, and how sure
it can be at best. How often that is right: [accuracy.md](accuracy.md). Brokers' logs, where you have them, decide what
records leave open: [broker-logs.md](broker-logs.md).

*Consumer* stands for groups whose coordinator assigns: the consumer protocol, share and streams groups. There every
epoch has a record of its own, written with the change that caused it. *Classic* groups write one record per generation,
when the leader's assignment arrives: it is a picture of the outcome, and causes follow from the difference to the
picture before. A difference is a fact, but what began the join phase left no record: a member that joined and left
again within it, a leader that rejoined, a subscription that changed back. So causes of a classic generation are
*probable*, with all that leaves no trace as alternatives. Only where the group was empty before nothing but a join can
have begun it; that is *proven*.

<!-- written by `python -m tools.pages.causes --write` -->
"""

_RULES: Final = """\
## What bumps a group epoch

Kafka's coordinator decides in a few places whether a request or a timer begins a new epoch. What cannot bump is no
cause, however close it was written to the epoch: a join without topics, an expression that is still to be resolved, a
static member under a new id. What always bumps is *proven*, whatever else happened. What depends on more than the
records hold is *proven* only where nothing else is left. Which release wrote a record follows from what it holds, as
far as it does; where releases differ and the record does not tell, the row counts as *may bump*.
"""

_ORDERS: Final = """\
The records of one request have one order. What cannot stand in one of these rows is two requests of one millisecond,
and is judged as two. `[3]` is a record of type 3 and `[3t]` its tombstone; `?` at most one, `*` any number.
"""

_TAIL: Final = """\
## Telling departures apart

An explicit leave, an expired session, a rebalance timeout and a removal by an administrator run the same code in the
coordinator and write the same records. What is left are times and company. In the consumer protocol, the first that
applies:

1. Other members went in the same write: one request named them all, an administrator's, or a client library's on
   behalf of many. *member removed by admin*
2. The member had left for a while (a static one does so when it closes) and did not return. *static member expired*
3. The member was told to give up partitions, and is removed at most {slack} ms behind its rebalance timeout: that
   timeout. A deleted topic can be behind it: the Java client's commit for the deleted partition is retried until the
   timeout. *member rebalance timeout*
4. The member wrote a record more recently than its session lasts: it *left*, or was *removed by an administrator* if it
   is static, since static members leave for a while only. The broker's `group.consumer.session.timeout.ms` is not in
   the log; tell it with `audit.consumer_session_timeout_ms` (or
   `REBALANCE_AUDIT_AUDIT__CONSUMER_SESSION_TIMEOUT_MS`). Without it no session is taken to be shorter
   than {shortest} ms (`audit.shortest_session_ms`).
5. The member had not answered a new target for {answer} ms (`audit.answer_within_ms`) or more, while the coordinator
   was there: each living member does so with its next heartbeat. *member session expired*
6. A younger member of the same client and host was there, the only one: the process had been started anew without
   leaving. *member session expired*
7. It is static: it would have left for a while. *member session expired*
8. Otherwise *member departed*, with what is not excluded beside it: a member of a stable group writes nothing, so that
   a leave and an expiry look alike.

A classic group's record tells when its join phase ended. All timers of its members start anew then, and all of them are
in the log: what is gone at the end of the next join phase, sooner than its session and its rebalance timeout last, has
*left* (or was *removed*, if it is static). Otherwise it is *member departed*.

All these are *probable*, never proven.

## What can make a cause wrong, and what is done about it

- **Compaction** removes records that a later one replaces. An epoch number that is skipped, an offset that is missing
  and a member without a beginning show it; such epochs are marked `gap`, and their causes are *possible* at best. An
  epoch 2 is taken for a group's first only where its records are those of a release that begins with 2.
- **Damaged or undecodable records** make what follows them in their group, or in the whole partition where nobody can
  tell whose they were, incomplete in the same way.
- **Two requests in one millisecond** look like one write. Records that cannot follow each other in one write are taken
  apart.
- **Clocks**: after a fail-over, times come from another broker.
- **LogAppendTime**: the records bear the time of their batch, some milliseconds behind the request.
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
