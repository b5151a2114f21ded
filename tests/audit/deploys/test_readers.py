"""Files of each tool, as its documentation shows them (tests/golden/deploys), to rollouts."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.audit.deploys.read import DeployCollector
from rebalance_audit.audit.deploys.rollout import DeployKind, Rollout
from rebalance_audit.carriers.json_documents import Document
from rebalance_audit.local.given_files import read_deploys
from rebalance_audit.wire.segments.folder import SourceNotReadable

FOLDER = Path(__file__).parents[2] / "golden" / "deploys"


def clock(at_ms: int | None) -> str:
    """`09:10:20`; `-` for None."""
    return "-" if at_ms is None else f"{datetime.fromtimestamp(at_ms / 1000, UTC):%H:%M:%S}"


def lines_of(deploys: list[Rollout]) -> list[str]:
    """A line for each rollout, and one for each of its pods: `name created deleted address`."""
    found = []
    for each in deploys:
        found.append(f"{each.deploy_id} {clock(each.started_ms)} {clock(each.ended_ms)}")
        for pod in each.pods:
            address = "" if pod.address is None else f" {pod.address}"
            own = " its own" if pod.has_own_address else ""
            found.append(
                f"  {pod.name} {clock(pod.created_ms)} {clock(pod.deleted_ms)}{address}{own}"
            )
    return found


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            # Scaling by hand at 09:02 is no rollout; of merged events only the last pod has a name.
            "kubernetes-events.json",
            """\
kubernetes:shop/checkout#scaling 09:02:00 09:02:00
kubernetes:shop/checkout@7f4c9d8b6c 09:10:00 09:10:40
  checkout-5577f87457-8bqvz - 09:10:20
  checkout-5577f87457-tcjr5 - 09:10:41
  checkout-7f4c9d8b6c-k7wdp 09:10:21 - 10.128.2.33
  checkout-7f4c9d8b6c-x2x4z 09:10:00 -""",
        ),
        (
            # The rollback at 09:40 repeats the events of the rollout at 09:00, with which they are merged.
            "kubernetes-events.jsonl",
            """\
kubernetes:shop/billing@6c546995cc 09:00:00 09:00:30
kubernetes:shop/billing@85996f8dbd 09:20:00 09:20:30
  billing-85996f8dbd-qf6lm 09:20:00 -
kubernetes:shop/billing@6c546995cc 09:40:00 09:40:30""",
        ),
        (
            # Pods keep their names; a pod in the network of its node has no address of its own.
            "kubernetes-statefulset.json",
            """\
kubernetes:shop/ledger@66b6c48dd5 09:30:00 09:30:52
  ledger-0 09:30:52 09:30:40 10.128.0.9 its own
  ledger-1 09:30:12 09:30:00 10.0.0.8
kubernetes:shop/ledger#scaling 09:55:00 09:55:00
  ledger-2 09:55:00 -""",
        ),
        (
            # Without events: the start is known, the end is not.
            "kubernetes-objects.json",
            """\
kubernetes:shop/stock@79d8699f66 09:50:00 -
  stock-79d8699f66-2tbpx 09:50:01 - fd00::a its own""",
        ),
        ("argo-rollouts-events.json", "argo_rollouts:shop/cart@6d7d49c47d 09:00:01 09:41:00"),
        (
            "argo-cd-application.json",
            """\
argo_cd:shop/shop@1.2.2 09:00:00 -
argo_cd:shop/shop@26f1d7e0c1c2b8a1d4a2a7b8c9d0e1f2a3b4c5d6 09:13:00 -""",
        ),
        # Helm records no end, and its history no name.
        ("angry-bird.json", "helm:angry-bird@3 16:05:01 -\nhelm:angry-bird@4 09:15:13 -"),
        ("helm-list.json", "helm:shop/checkout@17 09:10:00 -"),
        (
            "github-statuses.json github-deployments.json",
            """\
github:production/example@d583d658d6da 09:20:00 -
github:production/example@a84d88e7554f 09:20:00 09:24:30""",
        ),
        (
            "deploys.csv",
            """\
csv:späte Schicht 09:10:00 -
csv:search@v12 09:30:00 09:31:00
  search-0 09:30:20 09:30:00 10.1.0.5
  search-1 09:30:50 09:30:30""",
        ),
        # What Helm applied is the rollout that Kubernetes shows.
        (
            "helm-list.json kubernetes-objects.json kubernetes-events.json",
            """\
kubernetes:shop/checkout#scaling 09:02:00 09:02:00
kubernetes:shop/checkout@7f4c9d8b6c 09:10:00 09:10:40
  checkout-5577f87457-8bqvz - 09:10:20
  checkout-5577f87457-tcjr5 - 09:10:41
  checkout-7f4c9d8b6c-k7wdp 09:10:21 - 10.128.2.33
  checkout-7f4c9d8b6c-x2x4z 09:10:00 -
kubernetes:shop/stock@79d8699f66 09:50:00 -
  stock-79d8699f66-2tbpx 09:50:01 - fd00::a its own""",
        ),
    ],
)
def test_rollouts_of_each_tool(files: str, expected: str) -> None:
    """Name, start, end, and the pods that it created and deleted."""
    read = read_deploys(FOLDER / name for name in files.split())
    assert lines_of(list(read.deploys)) == expected.split("\n")
    assert not any(each.is_useless for each in read.files)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"{", "is no JSON"),
        (b"a,b\n1,2\n", "needs the columns name and started_at"),
        (b"name,started_at,colour\n", "has no column 'colour'"),
        (b"name,started_at\nx,2026-11-21T09:00Z,y\n", "line 2: more values than columns"),
        (
            b"name,started_at\nx,21.11.2026 09:00\n",
            "line 2: started_at is '21.11.2026 09:00', not a time",
        ),
        (
            b"name,started_at\nx,2999-01-01T00:00Z\n",
            "line 2: started_at is '2999-01-01T00:00Z', not a time",
        ),
        (b"name,started_at\n,\ny,\n", "line 3: started_at is '', not a time"),
        (b"name,started_at\n,2026-11-21T09:00Z\n", "line 2: name is empty"),
        (
            b"name,started_at,ended_at\nx,2026-11-21T09:00Z,2026-11-21T08:00Z\n",
            "line 2: ended_at is before started_at",
        ),
        (b"\xff", "neither JSON nor a CSV in UTF-8"),
        (b"\x1f\x8b\x08\x00", "cannot be read"),
        (b"[" * 100_000, "is no JSON"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_name(
    content: bytes, words: str, tmp_path: Path
) -> None:
    """The sentence names the file, and says what is wrong."""
    path = tmp_path / "events.json"
    path.write_bytes(content)
    with pytest.raises(SourceNotReadable, match=words) as raised:
        read_deploys([path])
    assert str(path) in str(raised.value)


def test_a_file_without_rollouts_is_no_error(tmp_path: Path) -> None:
    """An export of a quiet hour holds none; one of other objects is useless."""
    path = tmp_path / "pods.json"
    path.write_text('{"items": [{"kind": "ConfigMap"}]}', encoding="utf-8")
    read = read_deploys([path])
    assert not read.deploys
    assert [each.is_useless for each in read.files] == [True]


def event(message: str, at_s: int) -> dict[str, object]:
    """A step of a Deployment `sink`."""
    return {
        "kind": "Event",
        "reason": "ScalingReplicaSet",
        "involvedObject": {"kind": "Deployment", "name": "sink", "namespace": "x"},
        "message": message,
        "firstTimestamp": 1_795_252_000_000 + 1000 * at_s,
    }


@pytest.mark.parametrize(
    ("story", "steps", "rollouts"),
    [
        ("from zero", ["up A from 0 to 1"], 0),
        ("to zero and back", ["down A from 1 to 0", "up A from 0 to 3"], 0),
        ("by an autoscaler", ["up A from 2 to 5", "down A from 5 to 2"], 0),
        ("another one from zero", ["down A from 1 to 0", "up B from 0 to 1"], 1),
        ("one down, one up", ["up B from 0 to 1", "down A from 1 to 0"], 1),
        ("its start has expired", ["up B from 1 to 2", "down A from 1 to 0"], 0),
        (
            "there and back",
            [
                "up B from 0 to 1",
                "down A from 1 to 0",
                "up A from 0 to 1",
                "down B from 1 to 0",
            ],
            2,
        ),
    ],
)
def test_scaling_is_no_rollout(story: str, steps: list[str], rollouts: int) -> None:
    """A new ReplicaSet takes the place of another one; everything else is scaling."""
    collector = DeployCollector()
    written = (
        f"Scaled {way} replica set sink-{name} {numbers}"
        for way, name, numbers in (step.lower().split(" ", 2) for step in steps)
    )
    steps_of_file = [event(text, at_s) for at_s, text in enumerate(written)]
    collector.read("f", "f", [Document(1, steps_of_file)])
    kinds = [deploy.kind for deploy in collector.found().deploys]
    assert kinds.count(DeployKind.ROLLOUT) == rollouts, story


OLD, NEW = "sink-5577f87457", "sink-7f4c9d8b6c"
UP = "Deployment sink ScalingReplicaSet Scaled up replica set"
DOWN = "Deployment sink ScalingReplicaSet Scaled down replica set"
DELETED = "StatefulSet sink SuccessfulDelete delete Pod {} in StatefulSet sink successful"
CREATED = "StatefulSet sink SuccessfulCreate create Pod {} in StatefulSet sink successful"
AUTOSCALED = "HorizontalPodAutoscaler keda-hpa-sink SuccessfulRescale New size: {}; reason: All metrics below target"
OLD_POD, NEXT_POD = f"{OLD}-8bqvz", f"{OLD}-tcjr5"
REPLACED = f"09:10:20 ReplicaSet {OLD} SuccessfulCreate Created pod: {NEXT_POD}"
STOPPED = "Killing Stopping container app"


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [f"09:10:00 {DOWN} {OLD} from 2 to 1", f"09:16:00 {UP} {OLD} from 1 to 2"],
            ["scaling 09:10:00 09:16:00 [2, 1, 2]"],
            id="an autoscaler",
        ),
        pytest.param(
            [f"09:10:00 {DOWN} {OLD} to 1", f"09:40:00 {UP} {OLD} to 3"],
            ["scaling 09:10:00 09:10:00 [1]", "scaling 09:40:00 09:40:00 [3]"],
            id="releases before 1.26 say where a step ended alone",
        ),
        pytest.param(
            [
                *(f"09:10:00 {UP} {NEW} from 0 to 1", f"09:10:20 {DOWN} {OLD} from 1 to 0"),
                f"09:14:00 {UP} {NEW} from 1 to 4",
            ],
            [f"rollout 09:10:00 09:10:20 {NEW[5:]}", "scaling 09:14:00 09:14:00 [1, 4]"],
            id="scaled after a rollout",
        ),
        pytest.param(
            [f"09:10:00 {DOWN} {OLD} from 3 to 0", f"09:10:40 {UP} {NEW} from 0 to 3"],
            [f"rollout 09:10:00 09:10:40 {NEW[5:]}"],
            id="the strategy Recreate",
        ),
        pytest.param(
            [f"09:10:00 {DOWN} {OLD} from 3 to 2", f"09:10:01 {UP} {NEW} from 1 to 2"],
            [],
            id="a rollout whose start has expired",
        ),
        pytest.param(
            [
                *("09:10:00 " + DELETED.format("sink-1"), "09:10:31 " + CREATED.format("sink-1")),
                *("09:10:50 " + DELETED.format("sink-0"), "09:11:20 " + CREATED.format("sink-0")),
            ],
            ["rollout 09:10:00 09:11:20 None"],
            id="a rolling update",
        ),
        pytest.param(
            [
                *("09:10:00 " + DELETED.format("sink-1"), "09:12:31 " + CREATED.format("sink-1")),
                *("09:12:50 " + DELETED.format("sink-0"), "09:15:20 " + CREATED.format("sink-0")),
            ],
            ["rollout 09:10:00 09:15:20 None"],
            id="a rolling update of pods that take long to end",
        ),
        pytest.param(
            [
                *("09:10:00 " + DELETED.format("sink-2"), "09:10:00 " + DELETED.format("sink-1")),
                *("09:13:00 " + CREATED.format("sink-1"), "09:13:20 " + CREATED.format("sink-2")),
            ],
            ["scaling 09:10:00 09:13:20 [3, 1, 3]"],
            id="the highest ordinals go, and come back",
        ),
        pytest.param(
            [
                *("09:10:00 " + AUTOSCALED.format(1), "09:10:01 " + DELETED.format("sink-1")),
                *("09:10:40 " + AUTOSCALED.format(2), "09:10:41 " + CREATED.format("sink-1")),
            ],
            ["scaling 09:10:01 09:10:41 [2, 1, 2]"],
            id="an autoscaler that changes its mind",
        ),
        pytest.param(
            [f"09:10:00 Pod {OLD_POD} Evicted The node was low on resource: memory.", REPLACED],
            [f"eviction 09:10:00 09:10:20 -{OLD_POD[-5:]} +{NEXT_POD[-5:]}"],
            id="evicted by the kubelet",
        ),
        pytest.param(
            [
                f"09:10:00 Pod {OLD_POD} TaintManagerEviction Marking for deletion Pod x/{OLD_POD}",
                REPLACED,
            ],
            [f"eviction 09:10:00 09:10:20 -{OLD_POD[-5:]} +{NEXT_POD[-5:]}"],
            id="a taint",
        ),
        pytest.param(
            [f"09:10:00 Pod {OLD_POD} TaintManagerEviction Cancelling deletion of Pod x/{OLD_POD}"],
            [],
            id="a taint that is taken back",
        ),
        pytest.param(
            [f"09:10:00 Pod {OLD_POD} {STOPPED}", REPLACED],
            [f"eviction 09:10:00 09:10:20 -{OLD_POD[-5:]} +{NEXT_POD[-5:]}"],
            id="a drained node",
        ),
        pytest.param(
            [f"09:10:00 Pod sink-0 {STOPPED}", "09:10:31 " + CREATED.format("sink-0")],
            ["eviction 09:10:00 09:10:31 -ink-0 +ink-0"],
            id="a drained node with a pod of a StatefulSet",
        ),
        pytest.param(
            [
                *(f"09:10:00 {UP} {NEW} from 0 to 1", f"09:10:21 Pod {OLD_POD} {STOPPED}"),
                *(REPLACED, f"09:10:20 {DOWN} {OLD} from 1 to 0"),
            ],
            [f"rollout 09:10:00 09:10:20 {NEW[5:]}"],
            id="a rollout stops pods as well",
        ),
        pytest.param(
            [
                f"09:10:00 Pod {OLD_POD} BackOff Back-off restarting failed container app in pod {OLD_POD}"
            ],
            [f"crash 09:10:00 09:10:00 -{OLD_POD[-5:]}+{OLD_POD[-5:]}"],
            id="a container that crashes",
        ),
        pytest.param(
            [
                f"09:10:00 Pod {OLD_POD} Killing Container app failed liveness probe, will be restarted"
            ],
            [f"crash 09:10:00 09:10:00 -{OLD_POD[-5:]}+{OLD_POD[-5:]}"],
            id="a liveness probe",
        ),
        pytest.param([f"09:10:00 Pod {OLD_POD} Pulled Container image pulled"], [], id="nothing"),
    ],
)
def test_what_happened_to_pods(events: list[str], expected: list[str]) -> None:
    """A rollout, a scaling, an eviction or a crash."""
    collector = DeployCollector()
    collector.read("f", "f", [Document(1, [event_of(line) for line in events])])
    assert [described(deploy) for deploy in collector.found().deploys] == expected


def event_of(line: str) -> dict[str, Any]:
    """An event of `time kind name reason message`."""
    at, kind, name, reason, message = line.split(" ", 4)
    return {
        "reason": reason,
        "involvedObject": {"kind": kind, "name": name, "namespace": "x"},
        "message": message,
        "firstTimestamp": f"2026-11-21T{at}Z",
    }


def described(deploy: Rollout) -> str:
    """Kind, start and end; its revision, its replicas, or the last letters of its pods."""
    change = {
        DeployKind.ROLLOUT: str(deploy.revision),
        DeployKind.SCALING: str(deploy.replicas),
    }.get(
        deploy.kind,
        " ".join(
            f"-{pod.name[-5:]}" * (pod.deleted_ms is not None)
            + f"+{pod.name[-5:]}" * (pod.created_ms is not None)
            for pod in deploy.pods
        ),
    )
    return f"{deploy.kind} {clock(deploy.started_ms)} {clock(deploy.ended_ms)} {change}"


def test_a_container_that_crashed_is_in_the_state_of_its_pod() -> None:
    """`kubectl get pods -o json`, without any event."""
    terminated = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-21T09:10:00Z"}
    item = {
        "kind": "Pod",
        "metadata": {"name": OLD_POD, "namespace": "x"},
        "status": {"containerStatuses": [{"lastState": {"terminated": terminated}}]},
    }
    collector = DeployCollector()
    collector.read("f", "f", [Document(1, item)])
    assert [described(each) for each in collector.found().deploys] == [
        f"crash 09:10:00 09:10:00 -{OLD_POD[-5:]}+{OLD_POD[-5:]}"
    ]
