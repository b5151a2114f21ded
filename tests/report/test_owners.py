"""Who owned a partition, on the page and in `explain --at`, against the callbacks of the clients."""

import gzip
import json
from collections import defaultdict
from typing import Any, Final

import pytest

from tests.cli.audited import audited_once
from tests.cli.call import CAPTURES, segments

Row = dict[str, Any]

QUIET_MS: Final = 2500
"""Callbacks and records are written at different moments; in between nothing was going on for so long."""
STEP_MS: Final = 1000
STOPS: Final = {"kill9", "died", "close_end", "sigstop", "poll_stall_begin"}


def owners_by_callbacks(rows: list[Row]) -> list[tuple[int, dict[tuple[str, int], str]]]:
    """Quiet moments (epoch ms), and which client had which partition then."""
    rows = sorted(rows, key=lambda row: row["t_ms"])
    moments, found = [row["t_ms"] for row in rows], []
    owners: dict[tuple[str, int], str] = {}
    at_ms = moments[0]
    for row in rows:
        while at_ms < row["t_ms"]:
            if not any(abs(each - at_ms) < QUIET_MS for each in moments):
                found.append((at_ms, dict(owners)))
            at_ms += STEP_MS
        client = row["actor"]
        named = {(topic, number) for topic, number in row.get("partitions") or ()}
        if row["event"] == "assigned":
            owners |= dict.fromkeys(named, client)
            continue
        if row["event"] in STOPS:
            named = set(owners)
        elif row["event"] not in {"revoked", "lost"}:
            continue
        for partition in named:
            if owners.get(partition) == client:
                del owners[partition]
    return found


@pytest.mark.parametrize(
    "capture", ["classic-cooperative", "consumer-protocol", "consumer-static", "migration"]
)
def test_owners_are_those_that_the_clients_say(capture: str) -> None:
    """At every quiet moment, for each partition that a running client had."""
    clients: dict[str, list[Row]] = defaultdict(list)
    with gzip.open(CAPTURES / capture / "clients.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            clients[row["group"]].append(row)
    intervals: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
    for row in audited_once(segments(capture)).tables["ownership"]:
        intervals[row["group_id"], row["topic"], row["topic_partition"]].append(row)
    compared = 0
    for group_id, rows in clients.items():
        for at_ms, owners in owners_by_callbacks(rows):
            for (topic, number), client in owners.items():
                named = [
                    row["client_id"]
                    for row in intervals[group_id, topic, number]
                    if row["from_at"] <= at_ms and (row["to_at"] is None or at_ms < row["to_at"])
                ]
                assert named == [client], (group_id, at_ms, topic, number)
                compared += 1
    assert compared > 80
