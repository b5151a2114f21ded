"""Facts of one workload in any number: what happened to each pod is looked up, not compared with all the others."""

import time

import pytest

from rebalance_audit.audit.deploys.kubernetes import (
    KubernetesFacts,
    Scaled,
    StatefulStep,
    Workload,
)
from rebalance_audit.audit.deploys.kubernetes_disruptions import disruptions_of
from rebalance_audit.audit.deploys.kubernetes_rollouts import rollouts_of
from rebalance_audit.audit.deploys.match import GroupTies, TieCertainty
from rebalance_audit.audit.deploys.rollout import DeployIndex, DeployKind, Rollout, ScaleStep

COUNT = 20_000
SECONDS_MAX = 3.0
"""Far above what COUNT facts take, and far below what comparing each with each would."""
BEGIN_MS = 1_795_252_000_000
LATER_MS = 10_000_000_000
SET = Workload("StatefulSet", "x", "shop")
DEPLOYMENT = Workload("Deployment", "x", "shop")


def pods_of_one_replica_set() -> KubernetesFacts:
    """Each was evicted, and may have been replaced by any other."""
    facts = KubernetesFacts()
    for number in range(COUNT):
        pod = facts.pod("x", f"shop-1-{number}")
        pod.replica_set, pod.created_ms, pod.evicted_ms = "shop-1", BEGIN_MS, {BEGIN_MS}
    return facts


def stops_of_one_pod() -> KubernetesFacts:
    """A StatefulSet's pod that was created, stopped and, at other times, deleted."""
    facts = KubernetesFacts()
    facts.stateful[SET] = {
        StatefulStep(BEGIN_MS + number + later_ms, later_ms == 0, "shop-0")
        for number in range(COUNT)
        for later_ms in (0, LATER_MS)
    }
    facts.pod("x", "shop-0").killed_ms = {BEGIN_MS + number for number in range(COUNT)}
    return facts


def losses_of_one_pod_long_before() -> KubernetesFacts:
    """A StatefulSet's pod that was evicted at other times than it was created."""
    facts = KubernetesFacts()
    facts.stateful[SET] = {
        StatefulStep(BEGIN_MS + number, is_created=True, pod="shop-0") for number in range(COUNT)
    }
    facts.pod("x", "shop-0").evicted_ms = {BEGIN_MS - LATER_MS - each for each in range(COUNT)}
    return facts


def sizes_that_were_wanted_at_once() -> KubernetesFacts:
    """An autoscaler wanted any number of replicas when pods were deleted and created again."""
    facts = KubernetesFacts()
    facts.stateful[SET] = {
        StatefulStep(BEGIN_MS + 10 * number + is_created, bool(is_created), "shop-0")
        for number in range(COUNT)
        for is_created in (0, 1)
    }
    facts.autoscaled["x"] = {(BEGIN_MS, size) for size in range(1, COUNT)}
    return facts


def scalings_far_apart() -> KubernetesFacts:
    """A ReplicaSet with any number of pods was scaled again and again."""
    facts = KubernetesFacts()
    facts.scaled[DEPLOYMENT] = {
        Scaled(BEGIN_MS + 1_000_000 * number, is_up=True, replica_set="shop-1", before=1, after=2)
        for number in range(COUNT)
    }
    for number in range(COUNT):
        pod = facts.pod("x", f"shop-1-{number}")
        pod.replica_set, pod.created_ms = "shop-1", BEGIN_MS + 1_000_000 * number
    return facts


@pytest.mark.parametrize(
    "facts",
    [
        pods_of_one_replica_set(),
        stops_of_one_pod(),
        losses_of_one_pod_long_before(),
        sizes_that_were_wanted_at_once(),
        scalings_far_apart(),
    ],
    ids=["pods", "stops", "losses", "sizes", "scalings"],
)
def test_each_is_looked_up(facts: KubernetesFacts) -> None:
    """Whatever they show, it is found at a cost that is linear but for sorting."""
    begin = time.process_time()
    changes = list(rollouts_of(facts))
    assert [*changes, *disruptions_of(facts, changes)]
    assert time.process_time() - begin < SECONDS_MAX


def test_steps_of_a_scaling_are_looked_up_for_each_rebalance() -> None:
    """Each rebalance of a group may belong to any of the steps."""
    steps = tuple(ScaleStep(BEGIN_MS + each, False, 3, 2) for each in range(5 * COUNT))
    end_ms = steps[-1].at_ms
    scaling = Rollout(
        "kubernetes", "shop", BEGIN_MS, ended_ms=end_ms, kind=DeployKind.SCALING, steps=steps
    )
    member = {
        "incarnation": 0,
        "member_id": "m",
        "instance_id": None,
        "client_id": "shop-1",
        "client_host": "/h",
        "first_seen_at": BEGIN_MS,
    }
    cause = {
        **member,
        "cause": "member_joined",
        "certainty": "probable",
        "role": "began",
        "at": end_ms,
    }
    rebalance = {"started_at": end_ms, "ended_at": end_ms, "completeness": "complete"}
    ties = GroupTies(DeployIndex([scaling]), "g", [member])
    begin = time.process_time()
    certainties = {tie.certainty for _ in range(500) for tie in ties.of(rebalance, [cause])}
    assert certainties == {TieCertainty.DURING}
    assert time.process_time() - begin < SECONDS_MAX
