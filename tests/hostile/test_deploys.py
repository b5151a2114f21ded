"""Files of rollouts by an attacker: bounded in time and memory, and never a crash."""

import json
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.audit.deploys.match import GroupTies
from rebalance_audit.audit.deploys.read import DeployCollector, DeploysRead
from rebalance_audit.audit.deploys.rollout import DeployIndex, Pod, Rollout, merged
from rebalance_audit.carriers.json_documents import Document
from rebalance_audit.limits import (
    DEPLOY_FILE_BRACKETS,
    DEPLOY_FILE_BYTES,
    DEPLOY_FILE_MARKS,
    DEPLOY_ITEMS,
    DEPLOYS,
    DEPLOYS_AROUND,
    PODS_OF_NAME,
)
from rebalance_audit.local.given_files import read_deploys
from rebalance_audit.wire.segments.folder import SourceNotReadable
from tests.support.examples import examples

GOLDEN = Path(__file__).parents[1] / "golden" / "deploys"
ITEMS = [
    item
    for path in sorted(GOLDEN.glob("*.json"))
    for document in [json.loads(path.read_text(encoding="utf-8"))]
    for item in (document if isinstance(document, list) else document.get("items", [document]))
]
SMALL, LARGE = 2_000, 8_000
MEMORY_BYTES_MAX = 512 << 20
SECONDS_EACH = 0.001
"""Far above what an item takes, and far below what quadratic cost would leave."""

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def paths_in(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(each for key, child in inner for each in paths_in(child, (*path, key)))]


@given(st.data())
@settings(max_examples=examples(300), deadline=None)
def test_an_item_with_any_value_in_any_place_is_read_or_passed_over(data: st.DataObject) -> None:
    """Types, numbers and texts that no tool writes."""
    item = json.loads(json.dumps(data.draw(st.sampled_from(ITEMS))))
    place = data.draw(st.sampled_from(paths_in(item)[1:]))
    target = item
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = data.draw(anything)
    for deploy in collected([item, *ITEMS]).deploys:
        assert deploy.started_ms > 0
        assert deploy.window[0] < deploy.window[1]


def collected(items: list[dict[str, Any]]) -> DeploysRead:
    """What the items show."""
    collector = DeployCollector()
    collector.read("file", "file", [Document(1, items)])
    return collector.found()


def scaled(number: int, replica_set: str) -> dict[str, Any]:
    """A step of one Deployment, one a second."""
    return {
        "kind": "Event",
        "reason": "ScalingReplicaSet",
        "involvedObject": {"kind": "Deployment", "name": "shop", "namespace": "x"},
        "message": f"Scaled up replica set {replica_set} to 1 from 0",
        "firstTimestamp": 1_795_252_000_000 + 1000 * number,
    }


def deleted(number: int, replica_set: str) -> dict[str, Any]:
    """A pod that a ReplicaSet deleted."""
    return {
        "kind": "Event",
        "reason": "SuccessfulDelete",
        "involvedObject": {"kind": "ReplicaSet", "name": replica_set, "namespace": "x"},
        "message": f"Deleted pod: {replica_set}-{number}",
        "firstTimestamp": 1_795_252_000_000 + 1000 * number,
    }


@pytest.mark.parametrize(
    "make",
    [
        lambda n: [scaled(i, f"shop-{i}") for i in range(n)],
        lambda n: [
            each
            for i in range(n // 2)
            for each in (scaled(i, f"shop-{i % 2}"), deleted(i, f"shop-{i % 2}"))
        ],
        lambda n: [
            {
                "sha": "a",
                "environment": "b",
                "created_at": "2026-11-21T09:00:00Z",
                "statuses_url": "c",
                "repository_url": f"d/{i}",
            }
            for i in range(n)
        ],
        lambda n: [
            {"name": "shop", "started_at": "2026-11-21T09:00:00Z", "pod": f"shop-{i}"}
            for i in range(n)
        ],
    ],
    ids=["rollouts", "pods", "deployments", "rows"],
)
def test_reading_is_linear_in_items(make: Callable[[int], list[dict[str, Any]]]) -> None:
    """Thousands of rollouts of one workload, or of pods of one rollout."""
    for count in (SMALL, LARGE):
        items = make(count)
        begin = time.process_time()
        collected(items)
        assert time.process_time() - begin < count * SECONDS_EACH


def test_only_the_latest_rollouts_are_kept() -> None:
    """More than the limit are counted."""
    rows = [
        {"name": "shop", "started_at": 1_795_252_000_000 + number}
        for number in range(DEPLOYS.most + 5)
    ]
    read = collected(rows)
    assert (len(read.deploys), read.left_out) == (DEPLOYS.most, 5)
    assert read.deploys[0].started_ms == 1_795_252_000_005


def test_a_rebalance_is_held_against_a_bounded_number_of_rollouts() -> None:
    """However many were under way, a few are named."""
    at_ms = 1_795_252_000_000
    many = [Rollout("helm", f"shop-{number}", at_ms) for number in range(3 * DEPLOYS_AROUND.most)]
    index = DeployIndex(many)
    assert len(list(index.around(at_ms, at_ms))) == DEPLOYS_AROUND.most
    rebalance = {"started_at": at_ms, "ended_at": at_ms, "completeness": "complete"}
    assert len(GroupTies(index, "g", []).of(rebalance, [])) == 20


def test_long_ids_cost_no_more_than_short_ones() -> None:
    """A client id may have 32,767 characters of segments."""
    at_ms = 1_795_252_000_000
    index = DeployIndex(
        [Rollout("csv", "a", at_ms, pods=(Pod("a-0", at_ms),), client_pattern="*a" * 250)]
    )
    member = {
        "incarnation": 0,
        "member_id": "m",
        "instance_id": None,
        "client_id": "a-" * 16_000 + "a",
        "client_host": "/" + "1" * 5_000,
        "first_seen_at": at_ms,
    }
    cause = {
        **member,
        "cause": "member_joined",
        "certainty": "proven",
        "role": "began",
        "at": at_ms,
    }
    rebalance = {"started_at": at_ms, "ended_at": at_ms, "completeness": "complete"}
    begin = time.process_time()
    for _ in range(20):
        GroupTies(index, "g", [member]).of(rebalance, [cause])
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("nesting", ["[", '{"items":[', '{"a":'])
def test_deep_and_large_files_are_refused(nesting: str, tmp_path: Path) -> None:
    """Before they cost memory."""
    path = tmp_path / "events.json"
    path.write_text(nesting * 700_000, encoding="utf-8")
    with pytest.raises(SourceNotReadable, match="is no JSON"):
        read_deploys([path])
    path.write_text("[" + "{}," * DEPLOY_FILE_BRACKETS.most + "{}]", encoding="utf-8")
    with pytest.raises(SourceNotReadable, match="more than 1,500,000 objects and arrays"):
        read_deploys([path])
    with path.open("wb") as file:
        file.truncate(DEPLOY_FILE_BYTES.most + 1)
    with pytest.raises(SourceNotReadable, match="more than 64 MiB"):
        read_deploys([path])


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('{"x":[' + "1," * DEPLOY_FILE_MARKS.most + "1]}", "more than 5,000,000 commas and colons"),
        ("name,started_at\n" + ",\n" * (DEPLOY_FILE_MARKS.most + 1), "5,000,000 commas and colons"),
        (
            '["' + r"\u007b\u0022" * DEPLOY_FILE_BRACKETS.most + '"]',
            "more than 1,500,000 objects and arrays",
        ),
        (
            "[" + ",".join('{"' + "." * 600 + '":1}' for _ in range(30_000)) + "]",
            "more than 1,500,000 objects",
        ),
    ],
    ids=["numbers", "empty rows", "brackets of a text", "dotted names"],
)
def test_what_needs_many_times_its_size_is_refused(text: str, refused: str, tmp_path: Path) -> None:
    """A small object of Python for every two characters of a file."""
    path = tmp_path / "events.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceNotReadable, match=refused):
        read_deploys([path])


@pytest.mark.parametrize(
    "text",
    [
        "{" * 8 + '""' * 2_000_000,
        '{"' + '\\"' * 1_000_000,
        "[" * 8 + "x" + '""' * 2_000_000 + "]" * 8,
        '[{"' + "." * 8_000_000 + '":1}]',
        json.dumps(['{"' * 20 + '""' * 600 + "}"] * 3_000),
    ],
    ids=["not closed", "a string without end", "closed and no JSON", "one dotted name", "texts"],
)
def test_text_that_is_no_json_is_looked_at_a_few_times(text: str, tmp_path: Path) -> None:
    """Whatever quotes, brackets and dots it has, and in whatever order."""
    path = tmp_path / "events.json"
    path.write_text(text, encoding="utf-8")
    begin = time.process_time()
    tracemalloc.start()
    with suppress(SourceNotReadable):
        read_deploys([path])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - begin < 10
    assert peak < MEMORY_BYTES_MAX


def test_an_object_that_is_cut_hides_no_other(tmp_path: Path) -> None:
    """A log shipper cuts long lines; each cut one looks like the begin of all that follows."""
    path = tmp_path / "events.log"
    row = {"name": "shop", "started_at": "2026-11-21T09:00:00Z"}
    cut = '2026-11-21 {"message":"it\'s {5\n'
    path.write_text(cut * 500 + f"{json.dumps(row)}\n" + cut * 500, encoding="utf-8")
    assert [deploy.workload for deploy in read_deploys([path]).deploys] == ["shop"]


def test_rollouts_of_a_release_that_kubernetes_never_shows_cost_no_more_than_sorting() -> None:
    """Releases and rollouts of one workload at different times: each release is looked up, not compared with each."""
    rollouts = [
        Rollout("kubernetes", "a", number * 10, pods=(Pod(f"a-{number}"),))
        for number in range(20_000)
    ]
    later = 1_000_000_000
    releases = [Rollout("helm", "a", later + number * 10, str(number)) for number in range(20_000)]
    begin = time.process_time()
    assert len(merged([*rollouts, *releases])) == 40_000
    assert time.process_time() - begin < 10


def test_many_pods_of_one_name_are_bounded() -> None:
    """A file may have a pod created every few milliseconds; the latest before the event are considered."""
    index = DeployIndex(
        Rollout("csv", "a", number, str(number), pods=(Pod("a-0", number),))
        for number in range(5_000)
    )
    found = index.named("a-0", 3_000)
    assert [pod.created_ms for _, pod in found] == [*range(3_001 - PODS_OF_NAME.most, 3_001)]


def test_items_are_bounded_whatever_the_format() -> None:
    """A CSV has no brackets to count."""
    rows = (
        Document(number, {"name": f"a{number}", "started_at": number + 1_750_000_000_000})
        for number in range(DEPLOY_ITEMS.most + 1)
    )
    with pytest.raises(ValueError, match="more than 100,000 items"):
        DeployCollector().read("a.csv", "a", rows)


@pytest.mark.parametrize("column", ["name", "revision", "namespace", "group", "client", "pod"])
@pytest.mark.parametrize("value", [["x"], {"a": 1}, True, 5.5])
def test_a_text_of_another_type_drops_the_row(column: str, value: object) -> None:
    """Without its pattern a rollout would be about every group."""
    row = {"name": "a", "started_at": 1_750_000_000_000, column: value}
    found = DeployCollector().read("a.json", "a", [Document(1, row)])
    assert (found.items, found.dropped) == ({}, 1)
    assert column in found.why_dropped
