"""From records of a group and events of Kubernetes to what the rollout cost: the whole way, in a few lines."""

from rebalance_audit.audit.deploys.deploy_rows import deploy_rows
from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.local.given_files import read_deploys
from tests.audit.deploys.test_readers import FOLDER
from tests.dsl import log

TEN = 1_795_252_200_000
"""09:10, when the rollout of kubernetes-events.json begins."""
OLD, NEW, SECOND = (
    "checkout-5577f87457-8bqvz",
    "checkout-7f4c9d8b6c-x2x4z",
    "checkout-7f4c9d8b6c-k7wdp",
)

RECORDS = (
    (TEN - 3_600_000, f"5 A client={OLD}; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
    # Nine seconds after its pod was created.
    (TEN + 9_000, f"5 B client={NEW}; 3 3; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -"),
    (TEN + 9_300, "8 A 2/2 UNREVOKED 0-2|3-5"),
    (TEN + 9_500, "8 A 3/2 0-2"),
    (TEN + 10_000, "8 B 3/3 3-5"),
    # Its pod was deleted at 09:10:20; whether it left or expired is open.
    (TEN + 21_000, "8t A; 7t A; 5t A; 3 4"),
    (TEN + 22_000, "7 B 0-5; 6 4; 8 B 4/3 0-5"),
    # An hour later somebody scales it by hand.
    (TEN + 3_600_000, f"5 C client={SECOND}; 3 5; 7 B 0-2; 7 C 3-5; 6 5; 8 C 5/0 UNRELEASED -"),
    (TEN + 3_600_500, "8 B 5/4 0-2"),
    (TEN + 3_601_000, "8 C 5/5 3-5"),
)


def test_a_rollout_has_the_rebalances_that_it_began_and_no_other() -> None:
    """The join of the new pod is proven, the departure of the old one likely, the join an hour later unrelated."""
    tables = audit_log(log(*RECORDS))
    rows = deploy_rows(tables, read_deploys([FOLDER / "kubernetes-events.json"]).deploys)
    found = {
        row["certainty"]: [
            (row["rebalance_seqs"], item["change"], item["pod"]) for item in row["evidence"]
        ]
        for row in rows
    }
    assert found == {
        "proven": [([1], "joined", NEW)],
        "likely": [([2], "left", OLD)],
    }
    assert [row["not_stable_estimate_ms"] for row in rows] == [1_000, 1_000]
