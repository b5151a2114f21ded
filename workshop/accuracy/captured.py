"""The audit of real brokers' logs against the brokers' own words."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from rebalance_audit.audit.verdicts.cause import DEPARTURES
from rebalance_audit.local.audit import audit_segments
from workshop.accuracy.latencies import judge_estimate
from workshop.accuracy.simulated import by_epoch
from workshop.accuracy.tally import Tally
from workshop.accuracy.verdicts import judge_epoch

Row = dict[str, Any]

CAPTURES: Final = Path(__file__).resolve().parents[2] / "tests" / "golden" / "captures"
RECORDS: Final = "captures"
WITH_BROKER_LOG: Final = "captures, with broker logs"
COMPACTED: Final = "captures, compacted"

SAME_THING: Final = {
    "member_joined": {"group_created"},
    "static_member_joined": {"member_joined", "group_created"},
    "member_left": {"group_emptied", "member_removed_by_admin", "protocol_downgraded"},
    "member_session_expired": {"static_member_expired", "group_emptied"},
    "subscription_changed": {
        *("cooperative_follow_up", "topic_metadata_changed", "leader_rejoined"),
        *("member_joined", "static_member_joined", "group_created"),
    },
    "leader_rejoined": {"topic_metadata_changed", "cooperative_follow_up", "subscription_changed"},
    "topic_metadata_changed": {"regex_resolved"},
    "regex_resolved": {"topic_metadata_changed", "member_joined", "group_created"},
    "protocol_downgraded": {"member_left", "member_departed"},
}
"""What a broker's line and the audit may call one thing: the line says what a request asked, not what followed."""
LOGGED_ENDS: Final = {
    "member_left": {"member_removed_by_admin"},
    "member_session_expired": {"static_member_expired"},
    "member_rebalance_timeout": set[str](),
}
"""How the broker's line says that a member went, and what else may be meant: an administrator leaves in its name."""
DEPARTURE_NAMES: Final = frozenset(cause.text for cause in DEPARTURES)
CLOCK_MS: Final = 1_000
"""A line may be that much younger than the record."""
NO_LINE: Final = "bump without a line of its own"
"""Reason of an epoch for which the broker logged no cause; whatever the records show is right there."""


def capture_names() -> list[str]:
    """The captures that the project keeps."""
    return sorted(folder.name for folder in CAPTURES.iterdir())


def tally_of_capture(name: str) -> Tally:
    """Audit one capture, with its broker's log where that is kept as well."""
    tally = Tally()
    folder = CAPTURES / name
    source = COMPACTED if name == "compacted" else RECORDS
    _judge(tally, source, folder, [])
    logs = sorted(folder.glob("server*.log*"))
    if logs:
        _judge(tally, WITH_BROKER_LOG, folder, logs)
    tally.count("captures", source)
    return tally


def _judge(tally: Tally, source: str, folder: Path, logs: list[Path]) -> None:
    audited = audit_segments(folder / "segments", broker_logs=logs)
    if not logs:
        _judge_departures(tally, source, folder, audited.tables["rebalance_causes"])
    _judge_estimates(tally, source, folder, audited.tables["epochs"])
    causes = by_epoch(audited.tables["rebalance_causes"])
    epochs = {(row["group_id"], row["epoch"]): row for row in audited.tables["epochs"]}
    for key, reasons in _truth(folder).items():
        epoch = epochs.get(key)
        if epoch is None:
            tally.count("missing", source, reasons[0]["protocol"])
            continue
        said: list[str] = []
        for reason in reasons:
            for cause in reason["cause"].split("|"):
                said += [cause, *sorted(SAME_THING.get(cause, ()))]
        about = f"{folder.name} {key[0]} epoch {key[1]}"
        of_epoch = causes[epoch["group_id"], epoch["incarnation"], epoch["epoch"]]
        judge_epoch(tally, source, epoch, of_epoch, said, about, primary_alone=True)


def _judge_estimates(tally: Tally, source: str, folder: Path, epochs: Sequence[Row]) -> None:
    """Generations with a number of their own, by the broker's lines on the begin and the end of their join phases."""
    phases: dict[tuple[str, int], tuple[int, int]] = {}
    for row in _rows(folder):
        if row.get("protocol") == "classic" and row.get("prepare_ms") and row.get("stabilized_ms"):
            key = row["group"], row["epoch"]
            began_ms, ended_ms = phases.get(key, (row["prepare_ms"], row["stabilized_ms"]))
            phases[key] = min(began_ms, row["prepare_ms"]), max(ended_ms, row["stabilized_ms"])
    numbers = Counter((row["group_id"], row["epoch"]) for row in epochs)
    for epoch in epochs:
        key = epoch["group_id"], epoch["epoch"]
        if epoch["protocol"] != "classic" or numbers[key] > 1 or key not in phases:
            continue
        began_ms, ended_ms = phases[key]
        true_ms = ended_ms - began_ms + (epoch["sync_ms"] or 0)
        judge_estimate(tally, source, epoch, true_ms, f"{folder.name} {key[0]} epoch {key[1]}")


def _judge_departures(tally: Tally, source: str, folder: Path, causes: Iterable[Row]) -> None:
    """Each member that is gone, by the last word of the broker on it before; not where it gave none."""
    words: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for row in _rows(folder):
        if row["cause"] in LOGGED_ENDS and "member_id" in row:
            words[row["group"], row["member_id"]].append((row["t_ms"], row["cause"]))
    for cause in causes:
        name, gone = cause["cause"], cause["evidence"][-1:]
        if name not in DEPARTURE_NAMES or cause["member_id"] is None or not gone:
            continue
        before = [
            word
            for at_ms, word in sorted(words[cause["group_id"], cause["member_id"]])
            if at_ms <= gone[0]["at"] + CLOCK_MS
        ]
        if not before:
            continue
        with_commit = any(fact["fact"].startswith("last commit of ") for fact in cause["evidence"])
        result = "wrong"
        if name == "member_departed":
            result = "undecided"
        elif name in {before[-1], *LOGGED_ENDS[before[-1]]}:
            result = "right"
        tally.count("departure", source, "committed" if with_commit else "no commit", result)
        if result != "right":
            where = f"{folder.name} {cause['group_id']} epoch {cause['epoch']}"
            tally.example(
                f"departure {result}", f"{where} {cause['member_id']}: {name} for {before[-1]}"
            )


def _rows(folder: Path) -> list[Row]:
    """What the broker logged, in order."""
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text("utf-8").splitlines()]


def _truth(folder: Path) -> dict[tuple[str, int], list[Row]]:
    """The broker's reasons by group and epoch, where it gave any."""
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in _rows(folder):
        if row.get("epoch") is not None:
            found[row["group"], row["epoch"]].append(row)
    return {
        key: rows
        for key, rows in found.items()
        if not any(row["cause"] == "unknown" or NO_LINE in row.get("reason", "") for row in rows)
    }
