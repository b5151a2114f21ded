"""Every field of every message has a rule, so that a new one cannot leave the house unseen."""

from typing import Any, get_args, get_origin, get_type_hints

import pytest

from rebalance_audit.anonymise.pseudonyms import Pseudonyms
from rebalance_audit.anonymise.record_fields import INSIDE, MOMENTS, renamed, rule_of
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


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_no_text_passes(cls: type) -> None:
    """A message of any class with the same text in every field, and bytes that hold it, is renamed in all of them."""
    made = renamed(Pseudonyms(b"a key of 16 byte", 50), _instance(cls))
    assert "secret" not in repr(_without_inside(made))


def _instance(kind: Any) -> Any:
    """A value of a type, full of one word."""
    if kind in {str, bytes, int}:
        return {str: "secret.example", bytes: b"secret-secret-16", int: 5}[kind]
    if hasattr(kind, "_fields"):
        return kind(*[_instance(each) for each in get_type_hints(kind).values()])
    inner = [each for each in get_args(kind) if each not in {..., type(None)}]
    return (_instance(inner[0]),) if get_origin(kind) is tuple else _instance(inner[0])


def _without_inside(value: Any) -> Any:
    """The message without the bytes that `embedded_bytes` renames."""
    if hasattr(value, "_fields"):
        cls = type(value).__name__
        return [
            _without_inside(each)
            for name, each in zip(value._fields, value, strict=True)
            if (cls, name) not in INSIDE
        ]
    return [_without_inside(each) for each in value] if isinstance(value, tuple) else value


def _leaves(kind: Any) -> set[Any]:
    inner = [each for each in get_args(kind) if each is not ...]
    return set().union(*map(_leaves, inner)) if inner else {kind}
