"""What the lab of hand-made requests knows about its groups, held against the audit of the log that they left.

The truth is that of the stories (`workshop/lab`): what was done to a group when nothing else happened. It shares
nothing with the audit.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.audit.thresholds import DepartureRules
from rebalance_audit.local.audit import Audit, audit_segments

Row: TypeAlias = dict[str, Any]
Life: TypeAlias = tuple[str, int]
"""Group id and incarnation."""

RULES: Final = DepartureRules(shortest_session_ms=1_000)
"""The stories do not wait for sessions of usual length."""


class Disagreement(NamedTuple):
    """One point in which the audit is wrong."""

    group_id: str
    epoch: int | None
    said: str
    step: str

    def __str__(self) -> str:
        where = self.group_id if self.epoch is None else f"{self.group_id}, epoch {self.epoch}"
        return f"{where} ({self.step}): {self.said}"


def read_truth(folder: Path) -> list[Row]:
    """The rows that the lab wrote: one for each epoch, one for the members of each group at the end."""
    lines = (folder / "truth.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def disagreements(folder: Path, *, with_broker_log: bool) -> list[Disagreement]:
    """Where the audit of a folder of the lab (`segments/`, `server.log.gz`, `truth.jsonl`) is wrong."""
    logs = [folder / "server.log.gz"] if with_broker_log else []
    audit = audit_segments(folder / "segments", broker_logs=logs, departure_rules=RULES)
    truth = read_truth(folder)
    return [*_of_epochs(audit, truth), *_of_members(audit, truth)]


def _of_epochs(audit: Audit, truth: list[Row]) -> Iterator[Disagreement]:
    epochs: dict[Life, dict[int, Row]] = defaultdict(dict)
    for row in audit.tables["epochs"]:
        epochs[row["group_id"], row["incarnation"]][row["epoch"]] = row
    causes: dict[tuple[Life, int], list[Row]] = defaultdict(list)
    for row in audit.tables["rebalance_causes"]:
        causes[(row["group_id"], row["incarnation"]), row["epoch"]].append(row)
    known: dict[Life, dict[int, Row]] = defaultdict(dict)
    for row in truth:
        if "epoch" in row:
            known[row["group"], row["incarnation"]][row["epoch"]] = row
    for life in sorted(epochs.keys() | known.keys()):
        found, there = epochs[life], known[life]
        if found.keys() != there.keys():
            said = f"epochs {sorted(found)}, and there were {sorted(there)}"
            yield Disagreement(life[0], None, said, f"incarnation {life[1]}")
        for epoch in sorted(found.keys() & there.keys()):
            row = there[epoch]
            for said in _wrong(found[epoch], causes[life, epoch], row["causes"]):
                yield Disagreement(life[0], epoch, said, row["step"])


def _wrong(epoch: Row, judged: list[Row], causes: list[str]) -> Iterator[str]:
    if epoch["completeness"] != "complete":
        yield f"completeness {epoch['completeness']}"
    proven = {row["cause"] for row in judged if row["certainty"] == "proven"}
    if not proven <= set(causes):
        yield f"proven {sorted(proven)}, and it was {causes}"
    began = [row for row in judged if row["role"] != "meanwhile"]
    named = {row["cause"] for row in began}.union(*[row["alternatives"] or () for row in began])
    if causes[0] not in named:
        verdicts = [(row["cause"], row["certainty"], row["alternatives"]) for row in judged]
        yield f"{verdicts} do not name {causes[0]}"


def _of_members(audit: Audit, truth: list[Row]) -> Iterator[Disagreement]:
    """The members at the end, the epochs that the broker sent them last, and the group as it described it."""
    raised = {(row["group"], row["incarnation"]) for row in truth if "epoch" in row}
    state = {group["group_id"]: group for group in audit.state().groups}
    for row in truth:
        if "members" not in row:
            continue
        members = state[row["group"]]["members"] if row["group"] in state else []
        found = {member["member_id"]: member["epoch"] for member in members}
        sent = row["members"]
        epochs = {member_id: epoch for member_id, epoch in found.items() if epoch is not None}
        if found.keys() != sent.keys() or not epochs.items() <= sent.items():
            yield Disagreement(row["group"], None, f"members {found}, sent {sent}", "the end")
        if "described" in row:
            ours, said = _described(state.get(row["group"])), dict(row["described"])
            if not sent and (row["group"], row["incarnation"]) not in raised:
                # Whether such a group begins with epoch 0 or 1 depends on the release, and no record shows it.
                said |= {"epoch": None, "assignment_epoch": None}
            if ours != said:
                yield Disagreement(row["group"], None, f"{ours}, described as {said}", "the end")


def _described(group: Row | None) -> Row | None:
    """What of our description the truth has from the broker's own."""
    if group is None:
        return None
    return {
        **{name: group[name] for name in ("state", "epoch", "assignment_epoch")},
        "assignments": {each["member_id"]: each["assignment"] for each in group["members"]},
    }
