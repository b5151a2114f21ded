"""The layouts of Kafka's requests and responses, from the jars of the release that is asked.

`kafka-clients` carries the files that Kafka generates its own classes from, so every release is asked in its own
versions, and no layout is written down here.
"""

import json
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from rebalance_audit.wire.schema import (
    CURRENT_LAYOUT,
    NO_VERSION,
    PRIMITIVES,
    ZERO_UUID,
    Field,
    Layout,
    Message,
    Struct,
    VersionRange,
)

FOLDER: Final = "common/message"
_COMMENT: Final = re.compile(r"^\s*//.*$", re.MULTILINE)
_ZEROES: Final[Mapping[str, Any]] = {"string": "", "bytes": b"", "uuid": ZERO_UUID}
_WORDS: Final[Mapping[str, Any]] = {"null": None, "true": 1, "false": 0}
"""Defaults that the files write as text."""


class Api(NamedTuple):
    """One request and its response, in the newest version that is stable; early access has but one."""

    key: int
    version: int
    request: Message
    response: Message


@cache
def api(jars: Path, name: str) -> Api:
    """An API by name (`JoinGroup`). Raises KeyError if the release does not have it."""
    (clients,) = jars.glob("kafka-clients-*.jar")
    with zipfile.ZipFile(clients) as archive:
        request, response = (
            json.loads(_COMMENT.sub("", archive.read(f"{FOLDER}/{name}{kind}.json").decode()))
            for kind in ("Request", "Response")
        )
    newest = _versions(request["validVersions"]).highest
    assert newest is not None
    lowest = _versions(request["validVersions"]).lowest
    version = max(lowest, newest - request.get("latestVersionUnstable", False))
    return Api(request["apiKey"], version, _message(request), _message(response))


def _message(node: Mapping[str, Any]) -> Message:
    structs: dict[str, Struct] = {}
    shared = {each["name"]: each for each in node.get("commonStructs", ())}
    versions = _versions(node["validVersions"])
    body = Struct(node["name"], "", _fields(node, shared, structs))
    layout = Layout(CURRENT_LAYOUT, versions, "", body, structs)
    flexible = _versions(node["flexibleVersions"])
    return Message("embedded", None, node["name"], versions, flexible, "", {}, (layout,))


def _fields(
    owner: Mapping[str, Any], shared: Mapping[str, Any], structs: dict[str, Struct]
) -> tuple[Field, ...]:
    """The fields of a struct; the structs of their types are added to `structs`."""
    return tuple(_field(node, shared, structs) for node in owner["fields"])


def _field(node: Mapping[str, Any], shared: Mapping[str, Any], structs: dict[str, Struct]) -> Field:
    is_array = node["type"].startswith("[]")
    type_name = node["type"].removeprefix("[]")
    type_name = "int8" if type_name == "bool" else type_name
    if type_name not in PRIMITIVES and type_name not in structs:
        inner = node if "fields" in node else shared[type_name]
        structs[type_name] = Struct(type_name, "", _fields(inner, shared, structs))
    name = node["name"]
    default = _default(node, type_name, structs, is_array=is_array)
    return Field(
        name=name,
        json_name=name,
        attribute=re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower(),
        type_name=type_name,
        is_array=is_array,
        versions=_versions(node["versions"]),
        nullable_versions=_versions(node.get("nullableVersions", "none")),
        tagged_versions=_versions(node.get("taggedVersions", "none")),
        tag=node.get("tag"),
        default=default,
        absence=None,
        if_lacking=default,
        known=(),
        about="",
    )


def _default(
    node: Mapping[str, Any], type_name: str, structs: Mapping[str, Struct], *, is_array: bool
) -> Any:
    if "default" in node:
        given = node["default"]
        given = _WORDS.get(given, given) if isinstance(given, str) else given
        return int(given, 0) if isinstance(given, str) and type_name.startswith("int") else given
    if is_array:
        return []
    if type_name in structs:
        return {field.attribute: field.default for field in structs[type_name].fields}
    return _ZEROES.get(type_name, 0)


def _versions(text: str) -> VersionRange:
    if text == "none":
        return NO_VERSION
    first, _, last = text.rstrip("+").partition("-")
    return VersionRange(int(first), None if text.endswith("+") else int(last or first))
