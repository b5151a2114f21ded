"""Names of pods inside other names."""

import pytest

from rebalance_audit.audit.deploys.pod_name import is_generated, parsed, spans


@pytest.mark.parametrize(
    ("name", "workload", "of_replica_set"),
    [
        ("checkout-7f4c9d8b6c-x2x4z", "checkout", "7f4c9d8b6c"),
        ("my-dep-d9d5ff94b-2tbpx", "my-dep", "d9d5ff94b"),
        ("a.b-66b6c48dd5-7vz5h", "a.b", "66b6c48dd5"),
        ("checkout-0", "checkout", None),
        ("checkout-2-24567", "checkout-2", None),
        ("checkout-worker-audit", None, None),
        ("checkout", None, None),
        ("-0", None, None),
        ("x" * 30_000 + "-", None, None),
    ],
)
def test_parts_of_a_name(name: str, workload: str | None, of_replica_set: str | None) -> None:
    """A number followed by a number is no hash."""
    found = parsed(name)
    assert (found and found.workload) == workload
    assert (found and found.hash) == of_replica_set
    assert is_generated(name) == (of_replica_set is not None)


def test_spans_are_whole_segments() -> None:
    """The longest first; each says whether it begins the id."""
    assert list(spans("/a-b.c")) == [
        ("a-b.c", False),
        ("a-b", False),
        ("b.c", False),
        ("a", False),
        ("b", False),
        ("c", False),
    ]
    assert ("a-b", True) in list(spans("a-b-c"))
