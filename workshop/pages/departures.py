"""docs/departures.md: how the ends of members are weighed, from the tables that say so."""

import ast
import inspect
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from rebalance_audit.audit.causes import departure_weights
from rebalance_audit.audit.causes.departure_model import EVIDENCE, EXCLUSIONS, SIGNS, EvidenceKind
from rebalance_audit.audit.causes.departure_weights import SURE, WEIGHTS
from rebalance_audit.resources import checkout_root
from workshop import generated_files

PAGE: Final = "docs/departures.md"
_SET: Final = "Set: "
_SECTION: Final = "    # "

_HEAD: Final = """\
# How members end

A member that leaves, one whose session expires, one that does not rejoin in time and one that an administrator removes
run the same code in the coordinator and write the same records. No record says which it was. So the audit weighs each
end: five hypotheses against the evidence that the log holds.

| cause | hypothesis |
|---|---|
| `member_left` | The client sent a leave: it closed, or had not polled for `max.poll.interval.ms`. |
| `member_session_expired` | The coordinator heard nothing from it for its session timeout. |
| `member_rebalance_timeout` | It did not rejoin, or did not revoke partitions, within its rebalance timeout. |
| `member_removed_by_admin` | Somebody removed it. |

An application that stops as a whole is a leave of each of its members. A static member of a consumer group that had
left
for a while (epoch -2) and did not return is `static_member_expired`; that is no matter of weighing.

1. **Kafka's protocol excludes.** What cannot be gets no weight at all.
2. **Evidence weighs.** Each kind of evidence is a function that gives each hypothesis a log-likelihood; their sum,
   times
   a factor below 1 because kinds of evidence are not independent, is the posterior.
3. **The posterior decides.** From {sure} on, the cause is *probable*. Below, it is `member_departed`, with the ends in
   `alternatives`, the likeliest first, and how likely each is in `alternative_weights`. It is never *proven*: brokers'
   logs alone can prove it ([broker-logs.md](broker-logs.md)).

No guess of a client library decides anything, since the next client may be an untested one. What a client does with
commits counts as far as the log has shown it: each habit starts from a weak prior that stands for a few observations,
so
that no client can break it and a client that shows otherwise overrules it.

## What the protocol excludes

| name | rules out | where | Kafka's code |
|---|---|---|---|
"""

_EVIDENCE: Final = """
## What counts as evidence

| kind | what it looks at | what it says |
|---|---|---|
"""

_TIMES: Final = """
### The times

Between a member's last sign of life (its last commit, or the end of its last join phase) and the record that shows it
gone lie three stretches, each with a distribution; the density of their sum at the time that the log shows is what the
times say for a hypothesis.

- **A pause.** A member at work does not commit all the time. How long it pauses is learned: as often as not as long as
  its mean pause, seldom longer than the longest that it has shown. Unless it may have had *nothing to commit*: then it
  pauses for any time (a distribution with a long tail). Whoever has been seen to commit without a new position (the
  offset of a commit equals that of the one before) goes on committing with nothing to consume, and that share falls
  with
  each such commit; another client of the same group that does so counts a little. The share rises where the others fell
  silent as well, and where no other member ever commits.
- **The way to go.** A leave takes no time: many clients commit right before it, more or fewer as the group has shown;
  one
  that polls too late leaves `max.poll.interval.ms` after its last poll: up to a pause after its last commit,
  or before, as some clients commit in the background. An expiry takes a session, in a classic group
  from the last commit (each restarts the timer), elsewhere from a heartbeat, which came at most one interval before it.
- **The rest of a join phase**, in a classic group whose other members stay. Either the end began the phase, and lies as
  far back as the phase lasted; mostly until all had heard of it with a heartbeat. Or the phase was going on: then it
  waited for one that died, and ended with its expiry, and one that was dropped went as the phase ended. How long it
  lasted is bounded by the others: they commit as always until they hear of it.

The last end empties a group at once. If the group was left empty, the rows of its last members wait: a client that was
removed while it worked joins again within a heartbeat, one that left mostly does not. They are final with the next
generation, or when the log has gone on for 30 s.

## Every number

*Fitted*: by `python -m workshop.accuracy.fit`, on simulated clusters whose clients commit as measured ones do and on
logs of
real clients, half the weight each, then rounded. *Set*: a default of Kafka, or what no log can show. How right the
result is, client by client: [accuracy.md](accuracy.md).
"""

_SAYS: Final = {
    EvidenceKind.PRIOR: "Most leave; static members seldom do, for they are there to come back.",
    EvidenceKind.TIMING: "See below.",
    EvidenceKind.BEAT: "A timer's commit before its time was one on closing; one in time hardly was. "
    "Of a leave long after it, neither says anything.",
    EvidenceKind.MOVED: "Clients whose coordinator is away for longer than their session come back under another id.",
    EvidenceKind.JOINED: "A client that was removed alive is back in the same phase, one that died often.",
    EvidenceKind.ALONE: "Kafka's Admin removes all dynamic members of a group at once.",
    EvidenceKind.COMEBACK: "Removed clients are back within seconds, others seldom; an id that rejoins did not close.",
    EvidenceKind.TIMER: "An expiry comes a session after a heartbeat, and heartbeats come at an interval.",
    EvidenceKind.HELD: "The timer that runs while a member revokes.",
    EvidenceKind.ANSWERS: "A living member answers with its next heartbeat.",
    EvidenceKind.ONE_REQUEST: "Leaves and expiries have a write each.",
    EvidenceKind.AFTER_LEAVE: "An application that stops takes all its members out at once.",
    EvidenceKind.COMPANY: "Applications stop and die as a whole, and Kafka's Admin removes all members; "
    "weighed with the others' own posteriors.",
}


def page() -> str:
    """The text of docs/departures.md."""
    lines = [_HEAD.format(sure=SURE).rstrip("\n")]
    lines += [
        f"| {each.name} | {each.rules_out} | {each.releases} | {each.source} |"
        for each in EXCLUSIONS
    ]
    lines += [_EVIDENCE.rstrip("\n")]
    weighed = (*(kind for kind, _ in EVIDENCE), *(sign.kind for sign in SIGNS))
    kinds = dict.fromkeys((*weighed, EvidenceKind.COMPANY))
    lines += [f"| {kind.name.lower()} | {kind.value} | {_SAYS[kind]} |" for kind in kinds]
    lines += [_TIMES.rstrip("\n")]
    for section, rows in _sections():
        lines += [
            "",
            f"### {section}",
            "",
            "| number | value | how | what it is |",
            "|---|---|---|---|",
        ]
        lines += rows
    return "\n".join([*lines, ""])


def _sections() -> Iterator[tuple[str, list[str]]]:
    """The numbers by section, as the source has them."""
    source = inspect.getsource(departure_weights)
    (body,) = [node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    meanings = {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
    section, rows = "", list[str]()
    for line in source.splitlines():
        if line.startswith(_SECTION):
            if rows:
                yield section, rows
            section, rows = line.removeprefix(_SECTION), []
        name = line.strip().partition(":")[0]
        if line.startswith("    ") and name in meanings:
            meaning = meanings[name]
            how = "set" if meaning.startswith(_SET) else "fitted"
            meaning = meaning.removeprefix(_SET)
            value = f"{getattr(WEIGHTS, name):g}"
            rows.append(f"| `{name}` | {value} | {how} | {meaning[0].upper()}{meaning[1:]} |")
    yield section, rows


def due() -> dict[Path, str]:
    """The page in its place."""
    return {checkout_root() / PAGE: page()}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
