from collections.abc import Collection

import pytest

from rebalance_audit.errors import UnknownGroup


@pytest.mark.parametrize(
    ("asked", "known", "said"),
    [
        (
            "group-7",
            ("group-8-coop", "group-5-coop", "group-7-consumer", "group-1"),
            "did you mean 'group-7-consumer' or 'group-1' or 'group-8-coop'?",
        ),
        ("chekout", ("checkout", "billing"), "did you mean 'checkout'?"),
        ("a", ("ab-4-longer-name", "ab-3", "ab-2", "ab-1"), "did you mean 'ab-1' or 'ab-2' or 'ab-3'?"),
        ("", ("billing",), "which has 'billing'."),
    ],
)  # fmt: skip
def test_what_was_meant_begins_with_what_was_typed(
    asked: str, known: Collection[str], said: str
) -> None:
    """Names that begin so come before names that only look alike; three at most."""
    assert str(UnknownGroup(asked, known)).endswith(said)
