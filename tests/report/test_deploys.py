"""Sentences on rollouts, from rows of gold.deploys."""

from typing import Any

from rebalance_audit.report.deploys import during_note, sentences_of_group
from rebalance_audit.sentences.sentence import EvidenceSentence

BEGAN_MS = 1_795_252_000_000


def row(certainty: str, *rebalances: int, workload: str = "shop") -> dict[str, Any]:
    """A rollout with the rebalances of one certainty, each with a pod that names it."""
    took = dict.fromkeys(
        (f"not_stable_{end}_ms" for end in ("min", "max", "estimate")), 1000 * len(rebalances)
    )
    evidence = [
        {
            "rebalance_seq": seq,
            "matched_by": "pod_name",
            "member_id": f"m-{seq}",
            "change": "joined",
            "at": BEGAN_MS,
            "pod": f"{certainty}-{seq}",
            "pod_change": "created",
            "pod_at": BEGAN_MS,
        }
        for seq in rebalances
    ]
    return took | {
        "group_id": "orders",
        "incarnation": 0,
        "deploy_id": f"kubernetes:{workload}",
        "started_at": BEGAN_MS,
        "ended_at": None,
        "certainty": certainty,
        "kind": "rollout",
        "replicas": [],
        "tool": "kubernetes",
        "namespace": None,
        "environment": None,
        "workload": workload,
        "revision": None,
        "rebalances": len(rebalances),
        "rebalance_seqs": list(rebalances),
        "records_delayed_estimate": None,
        "evidence": evidence,
    }


def test_evidence_of_what_is_proven_comes_first() -> None:
    """Two pieces are shown, and rows are in order of their key: likely before proven."""
    rows = [row("likely", 1, 2, 3), row("proven", 4)]
    found = sentences_of_group({"deploys": rows})
    shown = [str(each) for each in found if isinstance(each, EvidenceSentence)]
    assert ["proven-4" in text for text in shown] == [True, False]


def test_a_rebalance_during_two_rollouts_counts_once() -> None:
    """A rollout may be named twice: for what it likely cost, and for what it merely coincided with."""
    meanwhile = [row("during", 5, 6), row("during", 6, workload="cart")]
    assert during_note([row("likely", 1), *meanwhile]).startswith(
        "2 rollouts may have been under way during 2 other rebalances;"
    )
    assert during_note(meanwhile).startswith(
        "2 rollouts may have been under way during 2 rebalances;"
    )
    assert not during_note([row("likely", 1)])
