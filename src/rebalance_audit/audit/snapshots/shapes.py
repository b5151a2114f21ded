"""The shapes of everything that a snapshot holds, as text: classes, their fields and the fields' types."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import isclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from rebalance_audit.audit.snapshots.codec import state_types


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
