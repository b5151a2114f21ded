"""What docs/causes.md says of the patterns holds for the audit."""

from collections import Counter

import pytest

from rebalance_audit.audit.causes.patterns import CAUSE_PATTERNS
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause
from rebalance_audit.local.audit import audit_segments
from tests.wire.golden import CAPTURE_NAMES, CAPTURES

STRENGTH = {certainty: strength for strength, certainty in enumerate(reversed(Certainty))}


def test_every_cause_has_its_patterns() -> None:
    """The closed list is whole."""
    assert set(CAUSE_PATTERNS) == set(RebalanceCause)


@pytest.mark.parametrize("capture", CAPTURE_NAMES)
def test_no_claim_is_surer_than_its_pattern_allows(capture: str) -> None:
    """On real logs every claimed cause is one that its kind of group can show, with no more certainty than that."""
    tables = audit_segments(CAPTURES / capture / "segments").tables
    protocols = {
        (row["group_id"], row["incarnation"], row["epoch"]): row["protocol"]
        for row in tables["epochs"]
    }
    claims: Counter[RebalanceCause] = Counter()
    for row in tables["rebalance_causes"]:
        pattern = CAUSE_PATTERNS[RebalanceCause(row["cause"])]
        protocol = protocols[row["group_id"], row["incarnation"], row["epoch"]]
        look = pattern.classic if protocol == "classic" else pattern.modern
        assert look.at_best is not None, row
        assert STRENGTH[Certainty(row["certainty"])] <= STRENGTH[look.at_best], row
        claims[RebalanceCause(row["cause"])] += 1
    assert claims
