"""The findings against scripted simulations: found, missed, false alarms.

Each script of `scripts` does one thing to one group in an otherwise quiet cluster with Kafka's default timeouts. A
kind that the script neither is nor brings about is a false alarm, and so is every finding of the group beside it.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from rebalance_audit.audit.findings.kinds import WATCHERS
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.sim.brokers.server_log import SERVER_LOG
from rebalance_audit.sim.options import Protocol
from workshop.accuracy.script import CHURN, SCRIPTED, Script
from workshop.accuracy.stage import SUBJECT, Stage
from workshop.accuracy.tally import Tally

Row = dict[str, Any]

RECORDS: Final = "records alone"
WITH_BROKER_LOG: Final = "with broker logs"
NEED_BROKER_LOG: Final = frozenset(
    {"instance_id_refused", "coordinator_trouble", "broker_log_contradiction"}
)
"""Kinds that no record shows."""
OF_COMMITS: Final = frozenset(
    {
        "backward_commit",
        "commit_flood",
        "commit_without_ownership",
        "committed_beyond_end",
        "committed_without_members",
        "records_lost",
        "records_skipped",
        "stalled_with_lag",
    }
)
"""Kinds about committed offsets, which the members of scripts do not have; `costs` compares what they rest on."""
KINDS: Final = tuple(watcher.kind for watcher in WATCHERS if watcher.kind not in OF_COMMITS)
COUNTED: Final = {
    "false alarms": "false alarm",
    "consequences": "beside",
    "other culprit": "other culprit",
    "end wrong": "end wrong",
    "split": "split",
}
"""Head of a column -> what it counts."""

Table = list[tuple[str, ...]]


def tally_of_script(script: Script, protocol: Protocol, seed: int) -> Tally:
    """Play a script once, and audit its log without and with the brokers' logs."""
    stage = Stage(script.setting, protocol, seed)
    tally = Tally()
    try:
        script.play(stage)
        stage.run()
    except Exception as error:
        error.add_note(f"script {script.name!r}, {protocol.value}, seed {seed}")
        raise
    culprit = None if script.culprit is None else stage.client(script.culprit).config.name
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage.simulation.write(folder)
        if script.damage is not None:
            script.damage(folder)
        about = f"{script.name} ({protocol.value}, seed {seed})"
        for source in (RECORDS, WITH_BROKER_LOG):
            logs = [folder / SERVER_LOG] if source == WITH_BROKER_LOG else []
            audit = audit_segments(folder, broker_logs=logs)
            judge(tally, source, script, audit.tables, culprit, about)
    return tally


def judge(
    tally: Tally,
    source: str,
    script: Script,
    tables: Mapping[str, list[Row]],
    culprit: str | None,
    about: str,
) -> None:
    """Compare what was found with what was done."""
    where = f"{script.suite}, {source}"
    tally.count("finding scripts", where)
    found: dict[str, list[Row]] = {}
    for row in tables["findings"]:
        if row["group_id"] != SUBJECT:
            if not script.of_setting:
                detail = f"{about}, of {row['group_id']}: {row['detail']}"
                _count(tally, where, row["kind"], "false alarm", detail)
            continue
        found.setdefault(row["kind"], []).append(row)
    expected = script.expected
    if source == RECORDS:
        expected -= NEED_BROKER_LOG
    client_of = {row["member_id"]: row["client_id"] for row in tables["members"]}
    for kind in KINDS:
        rows = found.get(kind, [])
        details = "; ".join(row["detail"] for row in rows)
        if kind in expected:
            tally.count("finding", where, kind, "happened")
            _count(tally, where, kind, "found" if rows else "missed", about)
            if not rows:
                continue
            if len(rows) > script.times:
                _count(tally, where, kind, "split", f"{about}: {details}")
            named = {client_of.get(each) for row in rows for each in row["member_ids"]}
            if culprit is not None and named and culprit not in named:
                _count(tally, where, kind, "other culprit", f"{about}: {details}")
            if any((row["to_at"] is None) != script.lasts for row in rows):
                _count(tally, where, kind, "end wrong", f"{about}: {details}")
        elif kind in script.also:
            tally.count("finding", where, kind, "beside", times=len(rows))
        else:
            tally.count("finding", where, kind, "not done")
            for row in rows:
                _count(tally, where, kind, "false alarm", f"{about}: {row['detail']}")


def _count(tally: Tally, where: str, kind: str, what: str, example: str) -> None:
    tally.count("finding", where, kind, what)
    if what != "found":
        tally.example(f"finding {what}: {kind} {where}", example)


def work(scripts: Iterable[Script], seeds: int) -> Iterator[Callable[[], Tally]]:
    """Every script with each of its protocols, so many times."""
    for script in scripts:
        for protocol in script.protocols:
            for seed in range(seeds):
                yield partial(tally_of_script, script, protocol, seed)


def sections(tally: Tally) -> Sequence[tuple[str, str, Table]]:
    """Title, explanation and table of the scripts and of random churn; nothing if none was played."""
    played = {
        suite: tally.get("finding scripts", f"{suite}, {RECORDS}") for suite in (SCRIPTED, CHURN)
    }
    if not any(played.values()):
        return ()
    return (
        (
            "Findings",
            (
                f"{played[SCRIPTED]} scripted simulations with Kafka's default timeouts and hours of history, each"
                " with one deed done to one group, classic or consumer, and a second group beside it that "
                "is left alone. The script says what is true. *Happened*: simulations whose deed is of this "
                "kind by its definition. *False alarms*: findings of it where it was not done, in either group. "
                "*Consequences*: findings that the deed may well bring about. *Other culprit*: the process that "
                "did it is not named. *End wrong*: over and not said so, or the other way round. *Split*: more "
                "than one finding for one deed. Not listed: kinds found each time and never wrong. Findings of "
                "offset commits and of sources are made in a lake only, and are not here."
            ),
            _imperfect(_table(tally, SCRIPTED, KINDS)),
        ),
        (
            "Findings in random churn",
            (
                f"{played[CHURN]} groups of 3 to 8 members, an hour each, in which processes crash, freeze, stall, "
                "start and stop at random. Without deploys, changes of topics, assignors or "
                "subscriptions, and moves of coordinators: findings of these kinds are false alarms. "
                "Whether a member flaps or is slow is chance, "
                "and not judged."
            ),
            _table(
                tally,
                CHURN,
                [kind for kind in KINDS if _was_said(tally, kind) or kind == "deploy_wave"],
            ),
        ),
    )


def _was_said(tally: Tally, kind: str) -> bool:
    return any(
        tally.get("finding", f"{CHURN}, {source}", kind, what)
        for source in (RECORDS, WITH_BROKER_LOG)
        for what in ("beside", "false alarm")
    )


def _table(tally: Tally, suite: str, kinds: Iterable[str]) -> Table:
    rows: Table = [("finding", "from", "happened", "found", "missed", *COUNTED)]
    for kind in kinds:
        for source in (RECORDS, WITH_BROKER_LOG):
            counted = [
                tally.get("finding", f"{suite}, {source}", kind, what)
                for what in ("happened", "found", "missed", *COUNTED.values())
            ]
            rows.append((kind, source, *map(str, counted)))
    return rows


def _imperfect(table: Table) -> Table:
    """Without the kinds that were found each time, and never where they should not be."""
    return [row for row in table if row[2] != row[3] or any(count != "0" for count in row[4:])]


def false_alarms(tally: Tally) -> int:
    """Findings of what was not done, anywhere."""
    return sum(
        times
        for what, times in tally.counts.items()
        if what[0] == "finding" and what[-1] == "false alarm"
    )
