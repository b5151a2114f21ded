"""Deploys as people exported them (tests/golden/reported), beside small logs of group `g`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.call import call
from tests.workshop.test_json_schemas import checked

REPORTED = Path(__file__).parents[1] / "golden" / "reported"
EVENTS = REPORTED / "deploys-events-carriers"


def outcome(case: str, *files: str | Path) -> tuple[list[dict[str, Any]], str]:
    """The rows of gold.deploys that `inspect` prints, and what it says on stderr."""
    arguments = [each for file in files for each in ("--deploys", str(REPORTED / case / file))]
    ended = call("inspect", REPORTED / case / "segments", *arguments, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    checked("inspect", found)
    return found["deploys"], ended.err


def cost(rows: list[dict[str, Any]]) -> list[str]:
    """`kubernetes:shop/checkout@7f4c 09:10:00.482 - likely 2`: what was deployed when, and its rebalances."""
    return [
        f"{row['deploy_id']} {clock(row['started_at'])} {clock(row['ended_at'])}"
        f" {row['certainty']} {row['rebalances']}"
        for row in rows
    ]


def clock(text: str | None) -> str:
    """`09:10:00.482`."""
    return "-" if text is None else text[11:23]


@pytest.mark.parametrize("name", sorted(path.name for path in EVENTS.glob("*.*")))
def test_events_are_the_same_whatever_carries_them(name: str) -> None:
    """A watch, eventrouter, an exporter, Cloud Logging and Elasticsearch; only the exporter names its cluster."""
    rows, _ = outcome(EVENTS.name, name)
    where = "c/shop" if name == "exporter.jsonl" else "shop"
    deploy = f"kubernetes:{where}/checkout@7f4c9d8b6c 09:10:00.000 09:10:20.000"
    assert cost(rows) == [f"{deploy} likely 1", f"{deploy} proven 1"]


def carried(events: list[str]) -> dict[str, str]:
    """Further carriers of the lines of an exporter."""
    values = [[f"179525220{number}000000000", line] for number, line in enumerate(events)]
    stream = {"stream": {"app": "eventrouter"}, "values": values}
    rows = [f'2026-11-21T09:10:00Z,"{line.replace(chr(34), 2 * chr(34))}"' for line in events]
    return {
        "slurp": f"[{','.join(events)}]",
        "pages": "".join(f'{{"items": [{line}], "next": "p"}}\n' for line in events),
        "arrays": "".join(f"[{line}]" for line in events),
        "byte order mark": "\ufeff" + "\n".join(events),
        "Loki": json.dumps({"status": "success", "data": {"result": [stream]}}),
        "logcli": "\n".join(json.dumps({"line": line, "labels": {}}) for line in events),
        "CloudWatch": json.dumps(
            {"events": [{"timestamp": 1, "message": line} for line in events]}
        ),
        "Docker": "\n".join(json.dumps({"log": f"I1121 x] {line}\n"}) for line in events),
        "containerd": "".join(f"2026-11-21T09:10:00Z stdout F {line}\n" for line in events),
        "CSV of a search": "\n".join(["@timestamp,message", *rows]),
        "flat fields": json.dumps(
            {"hits": [{"fields": flat(json.loads(line))} for line in events]}
        ),
        "levels": "\n".join(f"2026-11-21 [INFO] {{{line}" for line in events),
    }


def flat(fields: dict[str, Any], prefix: str = "") -> dict[str, list[Any]]:
    """As Elasticsearch answers with `fields`."""
    found: dict[str, list[Any]] = {}
    for key, value in fields.items():
        found |= (
            flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: [value]}
        )
    return found


@pytest.mark.parametrize("carrier", sorted(carried([])))
def test_further_carriers(carrier: str, tmp_path: Path) -> None:
    """What shippers, stores of logs and `jq` make of the same events."""
    lines = (EVENTS / "eventrouter.jsonl").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "events"
    path.write_text(carried(lines)[carrier], encoding="utf-8")
    rows, _ = outcome(EVENTS.name, path)
    deploy = "kubernetes:shop/checkout@7f4c9d8b6c 09:10:00.000 09:10:20.000"
    assert cost(rows) == [f"{deploy} likely 1", f"{deploy} proven 1"]


def test_equal_rollouts_of_two_clusters_are_two(tmp_path: Path) -> None:
    """Cloud Logging has the cluster beside the event; the second one began its rollout ten minutes later."""
    entries = json.loads((EVENTS / "cloud-logging.json").read_text(encoding="utf-8"))
    text = json.dumps(entries).replace(
        '"k8s_cluster"', '"k8s_cluster", "labels": {"cluster_name": "east"}'
    )
    west = text.replace('"east"', '"west"').replace("T09:1", "T09:2")
    path = tmp_path / "events.json"
    path.write_text(text + west, encoding="utf-8")
    rows, _ = outcome(EVENTS.name, path)
    assert (
        cost(rows)[-1]
        == "kubernetes:east/shop/checkout@7f4c9d8b6c 09:10:00.000 09:10:20.000 proven 1"
    )
    assert {row["environment"] for row in rows} == {"east"}


@pytest.mark.parametrize(
    "zone", ["alpine", "berlin", "india", "newyork", "saopaulo", "seoul", "utc"]
)
def test_helm_writes_times_with_the_name_of_a_zone(zone: str) -> None:
    """The offset is in the text; what follows is its name."""
    rows, _ = outcome("deploys-helm-zones", f"list-{zone}.json")
    assert cost(rows) == ["helm:shop/checkout@17 09:10:00.482 - likely 2"]


def test_what_is_dropped_is_reported(tmp_path: Path) -> None:
    """A zone's name alone does not say which time it is; text that is cut is counted."""
    written = json.loads(
        (REPORTED / "deploys-helm-zones/list-utc.json").read_text(encoding="utf-8")
    )
    path = tmp_path / "list.json"
    release = {**written[0], "updated": "2026-11-21 10:10:00 CET"}
    path.write_text("\n".join(map(json.dumps, [written[0], release])) + '\n{"na', encoding="utf-8")
    rows, said = outcome("deploys-helm-zones", path)
    assert cost(rows) == ["helm:shop/checkout@17 09:10:00.482 - likely 2"]
    assert (
        "2 items read, 1 dropped; the first: line 2: updated is '2026-11-21 10:10:00 CET'" in said
    )
    assert "1 line without JSON, the first is line 3." in said


def test_environments_of_one_commit_are_two_deploys() -> None:
    """Created in the same second, each with its own end."""
    files = ("deployments.json", "statuses.json")
    rows, _ = outcome("deploys-github-environments", *files)
    assert cost(rows) == [
        "github:production/checkout@a84d88e7554f 09:10:00.000 09:20:00.000 likely 2",
        "github:staging/checkout@a84d88e7554f 09:10:00.000 09:10:30.000 likely 2",
    ]
    folder = REPORTED / "deploys-github-environments"
    text = call("explain", folder / "segments", "g", "--deploys", folder / "staging-only.json").out
    assert "(GitHub, environment staging)" in " ".join(text.split())


@pytest.mark.parametrize("events", ["events.json", "events-with-hpa.json"])
def test_what_an_autoscaler_cost(events: str) -> None:
    """It takes checkout-1 away and gives it back six minutes later; a rollout would have done so at once."""
    rows, _ = outcome("deploys-statefulset-scaled", events)
    assert cost(rows) == ["kubernetes:shop/checkout#scaling 09:10:00.000 09:16:00.000 likely 2"]
    assert (rows[0]["kind"], rows[0]["replicas"]) == ("scaling", [2, 1, 2])
    folder = REPORTED / "deploys-statefulset-scaled"
    text = call("explain", folder / "segments", "g", "--deploys", folder / events).out
    assert "Scaling checkout 2→1→2 likely cost 2 rebalances" in " ".join(text.split())
