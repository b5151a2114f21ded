"""Converts everything that an audit keeps to plain values and back, by the types of its attributes.

`shapes_of` has these types as text.

Every class that keeps state over more than one write annotates it in its class body. Attributes without an annotation,
or annotated in `__init__`, are wiring. Plain values are JSON values. These are not written as field name and value:

- bytes: url-safe base64 without padding; a topic id has the prefix `id:`, to distinguish it from a topic's name;
- enums: their text if they have one, else their name; sets: sorted lists;
- positions: lists in the order of the fields, without the defaults at the end;
- partitions: `{topic: [numbers]}`; maps by partition: `[{"is": value, "of": partitions}, …]`;
- maps whose keys are not strings: lists of pairs; deques: their maximum length and their items;
- reasons: lists of code and facts;
- members of classic groups: without the fields that are decoded from their bytes.
"""

import base64
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from inspect import isclass
from operator import eq
from types import UnionType
from typing import Any, ClassVar, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

from cattrs import Converter
from cattrs.cols import (
    is_namedtuple,
    namedtuple_dict_structure_factory,
    namedtuple_dict_unstructure_factory,
)
from cattrs.strategies import configure_tagged_union

from rebalance_audit.replay.changes import Change, Position
from rebalance_audit.replay.classic import read_member
from rebalance_audit.replay.groups import ClassicMember, Group
from rebalance_audit.replay.partitions import Partitions, Topic, TopicPartition
from rebalance_audit.sentences.reason import CodedReason

Plain = Any
"""A JSON value."""

_ID: Final = "id:"
_NAME: Final = "name:"
_FIELDS_ALWAYS: Final = 4
"""Number of a position's fields before those of a transaction."""
_WHO: Final = ClassicMember._fields[: ClassicMember._fields.index("subscription_bytes")]
"""The fields of a classic member before its bytes."""
_NO_TRANSACTION: Final = tuple(Position._field_defaults.values())[1:]


def bytes_text(data: bytes) -> str:
    """Bytes as url-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def text_bytes(text: str) -> bytes:
    """The inverse of `bytes_text`."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def topic_text(topic: Topic) -> str:
    """A topic id or name as text. Kafka's topic names have no colon, but those of damaged records may."""
    if isinstance(topic, bytes):
        return _ID + bytes_text(topic)
    return _NAME + topic if topic.startswith((_ID, _NAME)) else topic


def text_topic(text: str) -> Topic:
    """The inverse of `topic_text`."""
    if text.startswith(_ID):
        return text_bytes(text.removeprefix(_ID))
    return text.removeprefix(_NAME)


def partitions_plain(partitions: Partitions) -> dict[str, list[int]]:
    """The partitions as `{topic: [numbers]}`."""
    return {topic_text(topic): sorted(numbers) for topic, numbers in partitions.items()}


def plain_partitions(plain: Mapping[str, list[int]]) -> dict[Topic, frozenset[int]]:
    """The inverse of `partitions_plain`."""
    return {text_topic(text): frozenset(numbers) for text, numbers in plain.items()}


def _position_plain(position: Position) -> list[Plain]:
    if position[_FIELDS_ALWAYS:] == _NO_TRANSACTION:
        return list(position[:_FIELDS_ALWAYS])
    return list(position)


def _by_partition(
    value: Iterable[tuple[TopicPartition, Any]], to_plain: Callable[[Any], Plain]
) -> list[Plain]:
    """Write neighbours with the same value together: a member takes its partitions in one record."""
    runs: list[Plain] = []
    last: object = runs
    numbers: dict[str, list[int]] = {}
    for (topic, number), held in value:
        if last is not held and last != held:
            last, numbers = held, {}
            runs.append({"is": to_plain(held), "of": numbers})
        numbers.setdefault(topic_text(topic), []).append(number)
    return runs


def _to_partitions(
    plain: Iterable[Plain], of_plain: Callable[[Plain, Any], Any], kind: Any
) -> dict[TopicPartition, Any]:
    return {
        (text_topic(text), number): of_plain(run["is"], kind)
        for run in plain
        for text, numbers in run["of"].items()
        for number in numbers
    }


def _reason_plain(value: Any) -> Plain:
    """A reason, and what its facts hold, as lists and maps."""
    if isinstance(value, Mapping):
        return {name: _reason_plain(fact) for name, fact in value.items()}
    if isinstance(value, list | tuple):
        return [_reason_plain(item) for item in value]
    return value


def _classic_member_plain(member: ClassicMember) -> dict[str, Plain]:
    who = zip(_WHO, member, strict=False)
    return {
        **dict(who),
        "subscription": bytes_text(member.subscription_bytes),
        "assignment": bytes_text(member.assignment_bytes),
        "is_consumer": member.subscription is not None or member.assignment is not None,
    }


def _plain_classic_member(plain: Mapping[str, Plain]) -> ClassicMember:
    said = text_bytes(plain["subscription"]), text_bytes(plain["assignment"])
    stored = (*(plain[name] for name in _WHO), *said)
    return read_member(stored, is_consumer=plain["is_consumer"])


def _is_map_of(kind: Any, key: object) -> bool:
    return get_origin(kind) in (dict, Mapping) and get_args(kind)[0] == key


def _is_map_of_others(kind: Any) -> bool:
    """Whether it is a map whose keys are neither JSON keys nor partitions."""
    return get_origin(kind) is dict and get_args(kind)[0] not in (str, TopicPartition)


def _is_map_by_number(kind: Any) -> bool:
    """Whether it is a map of topics to maps by partition number."""
    return _is_map_of(kind, Topic) and _is_map_of(get_args(kind)[1], int)


def _is_enum(kind: Any) -> bool:
    return isclass(kind) and issubclass(kind, Enum)


def _is_record(kind: Any) -> bool:
    return isclass(kind) and is_namedtuple(kind)


_Hooks: TypeAlias = tuple[Callable[[Any], Plain], Callable[[Plain, Any], Any]]
"""To a plain value, and back."""


def _register(
    converter: Converter, kind: Any, to_plain: Callable[[Any], Plain], back: Callable[[Plain], Any]
) -> None:
    if isclass(kind):
        converter.register_unstructure_hook(kind, to_plain)
        converter.register_structure_hook(kind, lambda plain, _: back(plain))
    else:  # an alias
        converter.register_unstructure_hook_func(partial(eq, kind), to_plain)
        converter.register_structure_hook_func(partial(eq, kind), lambda plain, _: back(plain))


def _converter() -> Converter:
    converter = Converter(omit_if_default=True, forbid_extra_keys=True, detailed_validation=False)
    plain_of, of_plain = converter.get_unstructure_hook, converter.get_structure_hook

    def of_record(kind: Any) -> _Hooks:
        return (
            namedtuple_dict_unstructure_factory(kind, converter, True),
            namedtuple_dict_structure_factory(kind, converter, False, True),
        )

    def of_set(kind: Any) -> _Hooks:
        make, inner = get_origin(kind), get_args(kind)[0]
        item, back = plain_of(inner), of_plain(inner)
        return (
            lambda value: sorted(map(item, value)),
            lambda plain, _: make(back(one, inner) for one in plain),
        )

    def of_pairs(kind: Any) -> _Hooks:
        (one, other), (key, value) = get_args(kind), map(plain_of, get_args(kind))
        key_back, value_back = map(of_plain, get_args(kind))
        return (
            lambda held: [[key(name), value(of_it)] for name, of_it in held.items()],
            lambda plain, _: {
                key_back(name, one): value_back(of_it, other) for name, of_it in plain
            },
        )

    def by_partition(kind: Any) -> _Hooks:
        inner = get_args(kind)[1]
        value, back = plain_of(inner), of_plain(inner)
        return (
            lambda held: _by_partition(held.items(), value),
            lambda plain, _: _to_partitions(plain, back, inner),
        )

    def by_number(kind: Any) -> _Hooks:
        inner = get_args(get_args(kind)[1])[1]
        value, back = plain_of(inner), of_plain(inner)

        def restored(plain: Plain, _kind: object) -> dict[Topic, dict[int, Any]]:
            held: dict[Topic, dict[int, Any]] = {}
            for (topic, number), one in _to_partitions(plain, back, inner).items():
                held.setdefault(topic, {})[number] = one
            return held

        return lambda held: _by_partition(
            (((topic, number), one) for topic, by in held.items() for number, one in by.items()),
            value,
        ), restored

    def of_deque(kind: Any) -> _Hooks:
        inner = get_args(kind)[0]
        item, back = plain_of(inner), of_plain(inner)
        return (
            lambda value: {"max": value.maxlen, "items": [item(one) for one in value]},
            lambda plain, _: deque((back(one, inner) for one in plain["items"]), plain["max"]),
        )

    factories: list[tuple[Callable[[Any], bool], Callable[[Any], _Hooks]]] = [
        (_is_record, of_record),
        (lambda kind: get_origin(kind) in (set, frozenset), of_set),
        (_is_map_of_others, of_pairs),
        (lambda kind: _is_map_of(kind, TopicPartition), by_partition),
        (_is_map_by_number, by_number),
        (lambda kind: get_origin(kind) is deque, of_deque),
    ]
    for matches, hooks_of in factories:
        hooks = cache(hooks_of)
        converter.register_unstructure_hook_factory(
            matches, lambda kind, hooks=hooks: hooks(kind)[0]
        )
        converter.register_structure_hook_factory(matches, lambda kind, hooks=hooks: hooks(kind)[1])
    converter.register_unstructure_hook_func(_is_enum, lambda value: value.name)
    converter.register_structure_hook_func(_is_enum, lambda plain, kind: kind[plain])
    others: list[tuple[Any, Callable[[Any], Plain], Callable[[Plain], Any]]] = [
        (bytes, bytes_text, text_bytes),
        (Topic, topic_text, text_topic),
        (Partitions, partitions_plain, plain_partitions),
        (CodedReason, _reason_plain, lambda plain: CodedReason(*plain)),
        (Position, _position_plain, lambda plain: Position(*plain)),
        (ClassicMember, _classic_member_plain, _plain_classic_member),
    ]
    for kind, to_plain, back in others:
        _register(converter, kind, to_plain, back)
    configure_tagged_union(Change, converter, tag_name="change")
    configure_tagged_union(Group, converter, tag_name="kind")
    group_plain, plain_group = plain_of(Group), of_plain(Group)
    _register(
        converter,
        Group | None,
        lambda value: None if value is None else group_plain(value),
        lambda plain: None if plain is None else plain_group(plain, Group),
    )
    return converter


_CONVERTER: Final = _converter()


class PartCodec:
    """Converts the state of one class to `{attribute without underscore: plain value}` and back."""

    def __init__(self, cls: type) -> None:
        self._attributes = [
            (
                name,
                name.lstrip("_"),
                kind,
                _CONVERTER.get_unstructure_hook(kind),
                _CONVERTER.get_structure_hook(kind),
            )
            for name, kind in state_types(cls).items()
        ]

    def plain(self, part: object) -> dict[str, Plain]:
        """The part's whole state."""
        return {key: hook(getattr(part, name)) for name, key, _, hook, _ in self._attributes}

    def restore(self, part: object, plain: Mapping[str, Plain]) -> None:
        """Restore the state of a new part; attributes missing from `plain` keep their initial values."""
        left = set(plain)
        for name, key, kind, _, hook in self._attributes:
            if key in plain:
                setattr(part, name, hook(plain[key], kind))
                left.remove(key)
        if left:
            raise KeyError(f"{type(part).__name__} has no {', '.join(sorted(left))}")


def state_types(cls: type) -> dict[str, Any]:
    """Attribute -> type, for everything that the class annotates as its state."""
    return {
        name: kind
        for name, kind in get_type_hints(cls).items()
        if get_origin(kind) is not ClassVar and not name.startswith("__")
    }


def shapes_of(parts: Iterable[type]) -> list[str]:
    """One line per class, in order of names: the parts, and all classes of their state."""
    lines: dict[type, str] = {}
    for part in parts:
        _describe(part, state_types(part), lines)
    return sorted(lines.values())


def _describe(cls: type, types: dict[str, Any], lines: dict[type, str]) -> None:
    if cls in lines:
        return
    lines[cls] = ""
    lines[cls] = f"{cls.__name__}: " + ", ".join(
        f"{name} {_text(kind, lines)}" for name, kind in sorted(types.items())
    )


def _text(kind: Any, lines: dict[type, str]) -> str:
    arguments = get_args(kind)
    if arguments:
        origin = get_origin(kind)
        name = "Union" if origin in (Union, UnionType) else origin.__name__
        return f"{name}[{' '.join(_text(argument, lines) for argument in arguments)}]"
    if not isclass(kind):
        return str(kind)
    if issubclass(kind, Enum):
        lines[kind] = f"{kind.__name__}: " + ", ".join(member.name for member in kind)
    elif is_dataclass(kind):
        hints = get_type_hints(kind)
        _describe(kind, {field.name: hints[field.name] for field in fields(kind)}, lines)
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        _describe(kind, get_type_hints(kind), lines)
    return kind.__name__
