"""Every field of every message has a rule, so that a new one cannot leave the house unseen."""

from typing import Any, get_args, get_type_hints

import pytest

from rebalance_audit.anonymise.record_fields import INSIDE, MOMENTS, rule_of
from rebalance_audit.wire.generated import messages

CLASSES = [
    cls
    for cls in vars(messages).values()
    if isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_text_and_all_bytes_have_a_rule(cls: type) -> None:
    """By class and attribute, or by attribute."""
    for attribute, kind in get_type_hints(cls).items():
        if {str, bytes} & _leaves(kind):
            rule = rule_of(cls.__name__, attribute)
            assert rule or (cls.__name__, attribute) in INSIDE, attribute
        if attribute.endswith(("timestamp", "_rebalance")):
            assert attribute in MOMENTS


def _leaves(kind: Any) -> set[Any]:
    inner = [each for each in get_args(kind) if each is not ...]
    return set().union(*map(_leaves, inner)) if inner else {kind}
