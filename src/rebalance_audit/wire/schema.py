"""Schemas of coordinator records: JSON files in, checked values out.

One file of `schemas/records` describes one message: the key or the value of a record type, or a
message embedded in a value. The grammar is our own: a closed set of attributes, so that a misspelt
one is an error and not a silent default.
"""

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from rebalance_audit import resources

CURRENT_LAYOUT: Final = ""
PRIMITIVES: Final = frozenset(
    {"int8", "int16", "int32", "int64", "uint16", "uuid", "string", "bytes"}
)
NULLABLE_PRIMITIVES: Final = frozenset({"string", "bytes"})
ZERO_UUID: Final = bytes(16)

MessageKind: TypeAlias = Literal["key", "value", "embedded"]

_MESSAGE_ATTRIBUTES: Final = {
    "kind", "name", "versions", "flexibleVersions", "about", "provenance", "recordType",
    "fields", "structs", "layouts",
}  # fmt: skip
_LAYOUT_ATTRIBUTES: Final = {"name", "versions", "about", "fields", "structs"}
_STRUCT_ATTRIBUTES: Final = {"name", "about", "fields"}
_FIELD_ATTRIBUTES: Final = {
    "name",
    "type",
    "versions",
    "nullableVersions",
    "taggedVersions",
    "tag",
    "default",
    "ifLacking",
    "known",
    "provenance",
    "absent",
    "about",
}
_ABSENT_WORDS: Final = {"none", "unknown"}  # fmt: skip


class SchemaError(ValueError):
    """A schema file breaks the grammar; the message names the file and the place."""


class VersionRange(NamedTuple):
    """Message versions from `lowest` to `highest`, both included; `highest` None = no end."""

    lowest: int
    highest: int | None

    def holds(self, version: int) -> bool:
        """Whether `version` is in the range."""
        return self.lowest <= version and (self.highest is None or version <= self.highest)


NO_VERSION: Final = VersionRange(0, -1)


class Absence(NamedTuple):
    """What it means that a record lacks a field: `none`, there is none; `unknown`, the record does not say."""

    release: str
    """The release, with its proposal, that introduced the field."""
    before: str
    """In records of earlier releases."""
    since: str | None
    """In records of that release and later; None where these always have the field, as it has no tag."""


@dataclass(frozen=True, eq=False, slots=True)
class Field:
    """One field of a message or struct."""

    name: str
    """As Kafka spells it, first letter in either case."""
    json_name: str
    """Name in Kafka's JSON: lowerCamelCase."""
    attribute: str
    """Name in the message class: snake_case."""
    type_name: str
    """A primitive, or the name of a struct of the message."""
    is_array: bool
    versions: VersionRange
    nullable_versions: VersionRange
    tagged_versions: VersionRange
    tag: int | None
    default: Any
    """What an absent tag means: a dict by attribute for a struct, a list for an array."""
    if_lacking: Any
    """Value of the field in a version or layout that does not have it."""
    known: tuple[int, ...]
    """All values that releases wrote; () = any. Another value is evidence against the layout."""
    absence: Absence | None
    """Of a record's field that is younger than its message, or has a tag; embedded messages have a version for that."""
    about: str

    @property
    def is_struct(self) -> bool:
        """Whether the field (or each element of it) is a struct."""
        return self.type_name not in PRIMITIVES

    def is_tagged(self, version: int) -> bool:
        """Whether `version` carries the field in the tag section."""
        return self.tagged_versions.holds(version)

    def is_nullable(self, version: int) -> bool:
        """Whether the field may be null in `version`."""
        return self.nullable_versions.holds(version)


@dataclass(frozen=True, eq=False, slots=True)
class Struct:
    """A group of fields that ends, in flexible versions, with a tag section of its own."""

    name: str
    about: str
    fields: tuple[Field, ...]

    def untagged(self, version: int) -> tuple[Field, ...]:
        """Fields in wire order that `version` has outside the tag section."""
        return _fields_in(self, version)[0]

    def tagged(self, version: int) -> tuple[Field, ...]:
        """Fields of the tag section of `version`, by ascending tag."""
        return _fields_in(self, version)[1]


@functools.cache
def _fields_in(shape: Struct, version: int) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    held = [field for field in shape.fields if field.versions.holds(version)]
    tagged = sorted((f for f in held if f.is_tagged(version)), key=lambda f: f.tag or 0)
    return tuple(f for f in held if not f.is_tagged(version)), tuple(tagged)


class Layout(NamedTuple):
    """One way to lay out a message; early releases had others under the same version number."""

    name: str
    """`CURRENT_LAYOUT`, or the release that wrote it."""
    versions: VersionRange
    about: str
    body: Struct
    structs: Mapping[str, Struct]


class Message(NamedTuple):
    """The schema of one key, value or embedded message."""

    kind: MessageKind
    record_type: int | None
    """None for an embedded message."""
    name: str
    versions: VersionRange
    flexible_versions: VersionRange
    about: str
    provenance: Mapping[str, str]
    """Version -> release and proposal that introduced it."""
    layouts: tuple[Layout, ...]
    """Newest first."""

    @property
    def stem(self) -> str:
        """The name without Key or Value."""
        return self.name.removesuffix("Key").removesuffix("Value")

    def class_name(self, struct_name: str) -> str:
        """Name of the class of the message itself or of one of its structs."""
        return self.name if struct_name == self.name else self.stem + struct_name

    def is_flexible(self, version: int) -> bool:
        """Whether `version` has compact lengths and tag sections."""
        return self.flexible_versions.holds(version)

    def version_numbers(self) -> range:
        """Every known version."""
        assert self.versions.highest is not None
        return range(self.versions.lowest, self.versions.highest + 1)

    def layouts_of(self, version: int) -> tuple[Layout, ...]:
        """Layouts that `version` may have, newest first; empty for an unknown version."""
        if not self.versions.holds(version):
            return ()
        return tuple(layout for layout in self.layouts if layout.versions.holds(version))

    def layout_named(self, version: int, name: str) -> Layout:
        """One layout of a version. Raises ValueError if there is none of that name."""
        for layout in self.layouts_of(version):
            if layout.name == name:
                return layout
        raise ValueError(f"{self.name} version {version} has no layout {name!r}")


class Catalogue(NamedTuple):
    """All messages, by what the bytes say."""

    keys: Mapping[int, Message]
    values: Mapping[int, Message]
    embedded: Mapping[str, Message]

    def messages(self) -> tuple[Message, ...]:
        """Every message: by record type, key before value, embedded ones last."""
        by_type = [
            m
            for record_type in self.keys
            for m in (self.keys[record_type], self.values[record_type])
        ]
        return (*by_type, *self.embedded.values())

    def absences(self) -> Mapping[tuple[str, str], Absence]:
        """Message and field, as Kafka spells it -> what it means that the field is missing."""
        return {
            (message.name, field.name): field.absence
            for message in self.messages()
            for layout in message.layouts
            for struct in (layout.body, *layout.structs.values())
            for field in struct.fields
            if field.absence is not None
        }


@functools.cache
def message_named(name: str) -> Message:
    """The schema of one key, value or embedded message, from its file alone.

    Raises ValueError for another name, and SchemaError if the file is broken.
    """
    path = _schema_files().get(re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower())
    if path is None:
        raise ValueError(f"{name} is neither a key nor a value of a record")
    return _message_of_file(path, resources.read_text(path))


@functools.cache
def _schema_files() -> Mapping[str, str]:
    """Name in words -> path; a file's name begins with a number or a word for the kind."""
    paths = resources.list_files("schemas/records", ".json")
    stems = (path.rpartition("/")[2].removesuffix(".json") for path in paths)
    return dict(zip((stem.partition("-")[2] for stem in stems), paths, strict=True))


@functools.cache
def record_schemas() -> Catalogue:
    """Load the schemas that come with the package. Raises SchemaError if one is broken."""
    paths = _schema_files().values()
    return load_catalogue({path: resources.read_text(path) for path in paths})


def load_catalogue(files: Mapping[str, str]) -> Catalogue:
    """Read schema files (name -> text). Raises SchemaError for anything outside the grammar."""
    keys: dict[int, Message] = {}
    values: dict[int, Message] = {}
    embedded: dict[str, Message] = {}
    for file_name in sorted(files):
        message = _message_of_file(file_name, files[file_name])
        if message.record_type is None:
            known, number = message.name in embedded, message.name
            embedded[message.name] = message
        else:
            by_type = keys if message.kind == "key" else values
            known, number = message.record_type in by_type, f"record type {message.record_type}"
            by_type[message.record_type] = message
        if known:
            raise SchemaError(f"{file_name}: a second {message.kind} of {number}")
    for record_type in sorted(keys.keys() ^ values.keys()):
        has, lacks = ("key", "value") if record_type in keys else ("value", "key")
        raise SchemaError(f"record type {record_type} has a {has} but no {lacks}")
    return Catalogue(dict(sorted(keys.items())), dict(sorted(values.items())), embedded)


def _message_of_file(name: str, text: str) -> Message:
    try:
        return _message(json.loads(text, object_pairs_hook=_no_duplicates))
    except (SchemaError, json.JSONDecodeError) as problem:
        raise SchemaError(f"{name}: {problem}") from problem


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise SchemaError(f"an attribute is given twice among {[name for name, _ in pairs]}")
    return found


def _check(node: dict[str, Any], allowed: set[str], required: Iterable[str], where: str) -> None:
    unknown = sorted(node.keys() - allowed)
    if unknown:
        raise SchemaError(f"{where}: unknown attribute {', '.join(unknown)}")
    missing = [name for name in required if name not in node]
    if missing:
        raise SchemaError(f"{where}: attribute {', '.join(missing)} is missing")


def _versions(text: str, where: str) -> VersionRange:
    if text == "none":
        return NO_VERSION
    match = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", text)
    if match is None:
        raise SchemaError(f"{where}: {text!r} is no version range")
    lowest = int(match[1])
    highest = None if match[2] else int(match[3] or lowest)
    if highest is not None and highest < lowest:
        raise SchemaError(f"{where}: {text!r} is no version range")
    return VersionRange(lowest, highest)


def _message(node: dict[str, Any]) -> Message:
    name = node.get("name", "?")
    required = ("kind", "name", "versions", "flexibleVersions", "about", "provenance")
    _check(node, _MESSAGE_ATTRIBUTES, required, name)
    kind = node["kind"]
    if kind not in ("key", "value", "embedded"):
        raise SchemaError(f"{name}: kind {kind!r} is none of key, value, embedded")
    if (kind == "embedded") == ("recordType" in node):
        raise SchemaError(f"{name}: keys and values have a recordType, embedded messages have none")
    versions = _versions(node["versions"], name)
    if versions.highest is None:
        raise SchemaError(f"{name}: the versions of a message have an end")
    shared = {s["name"]: s for s in node.get("structs", ())}
    layouts = []
    if "fields" in node:
        layouts.append(_layout(CURRENT_LAYOUT, name, node, versions, shared, name))
    for early in node.get("layouts", ()):
        where = f"{name}, layout {early.get('name', '?')}"
        _check(early, _LAYOUT_ATTRIBUTES, ("name", "versions", "about", "fields"), where)
        own = {s["name"]: s for s in early.get("structs", ())}
        structs = shared | own
        early_versions = _versions(early["versions"], where)
        layouts.append(_layout(early["name"], name, early, early_versions, structs, where))
    names = [layout.name for layout in layouts]
    if not layouts or len(set(names)) != len(names):
        raise SchemaError(f"{name}: layouts need fields and names of their own")
    used = {struct for layout in layouts for struct in layout.structs}
    if shared.keys() - used:
        raise SchemaError(f"{name}: nothing uses struct {', '.join(sorted(shared.keys() - used))}")
    message = Message(
        kind, node.get("recordType"), name, versions, _versions(node["flexibleVersions"], name),
        node["about"], node["provenance"], tuple(layouts),
    )  # fmt: skip
    if set(message.provenance) != {str(version) for version in message.version_numbers()}:
        raise SchemaError(f"{name}: provenance must name each version once")
    return message


def _layout(
    layout_name: str,
    message_name: str,
    node: dict[str, Any],
    versions: VersionRange,
    structs: dict[str, Any],
    where: str,
) -> Layout:
    parsed: dict[str, Struct] = {}

    def struct(name: str, within: tuple[str, ...]) -> Struct:
        if name in within:
            raise SchemaError(f"{where}: struct {name} contains itself")
        if name not in parsed:
            if name not in structs:
                raise SchemaError(f"{where}: {name} is neither a primitive nor a struct")
            inner = f"{where}, struct {name}"
            _check(structs[name], _STRUCT_ATTRIBUTES, ("name", "about", "fields"), inner)
            parsed[name] = _struct(name, structs[name], inner, (*within, name))
        return parsed[name]

    def _struct(name: str, owner: dict[str, Any], inner: str, within: tuple[str, ...]) -> Struct:
        fields = []
        for f in owner["fields"]:
            type_name = str(f.get("type", "")).removeprefix("[]")
            nested = None if type_name in PRIMITIVES else struct(type_name, within)
            fields.append(_field(f, nested, inner))
        for what in ([f.name for f in fields], [f.tag for f in fields if f.tag is not None]):
            if len(set(what)) != len(what):
                raise SchemaError(f"{inner}: a name or tag occurs twice in {what}")
        return Struct(name, owner["about"], tuple(fields))

    body = _struct(message_name, node, where, ())
    return Layout(layout_name, versions, node["about"], body, parsed)


def _field(node: dict[str, Any], nested: Struct | None, where: str) -> Field:
    where = f"{where}, field {node.get('name', '?')}"
    _check(node, _FIELD_ATTRIBUTES, ("name", "type", "versions", "about"), where)
    type_name = node["type"].removeprefix("[]")
    is_array = node["type"].startswith("[]")
    nullable = _versions(node.get("nullableVersions", "none"), where)
    if nullable != NO_VERSION and not (is_array or nested or type_name in NULLABLE_PRIMITIVES):
        raise SchemaError(f"{where}: {node['type']} cannot be null")
    if ("tag" in node) != ("taggedVersions" in node):
        raise SchemaError(f"{where}: tag and taggedVersions go together")
    zero = _zero(type_name, nested, is_array=is_array)
    default = node.get("default", zero)
    default = zero if default == "empty" else default
    if default is None and nullable == NO_VERSION:
        raise SchemaError(f"{where}: default null on a field that is never null")
    name = node["name"]
    return Field(
        name=name, json_name=name[0].lower() + name[1:],
        attribute=re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower(),
        type_name=type_name, is_array=is_array,
        versions=_versions(node["versions"], where), nullable_versions=nullable,
        tagged_versions=_versions(node.get("taggedVersions", "none"), where),
        tag=node.get("tag"), default=default, if_lacking=node.get("ifLacking", default),
        known=tuple(node.get("known", ())), absence=_absence(node, where), about=node["about"],
    )  # fmt: skip


def _absence(node: dict[str, Any], where: str) -> Absence | None:
    means, release = node.get("absent"), node.get("provenance")
    if means is None:
        return None
    needed = {"before", "since"} if "tag" in node else {"before"}
    if release is None or means.keys() != needed or not _ABSENT_WORDS.issuperset(means.values()):
        raise SchemaError(
            f"{where}: absent needs provenance, and none or unknown for {sorted(needed)}"
        )
    return Absence(release, means["before"], means.get("since"))


def _zero(type_name: str, nested: Struct | None, *, is_array: bool) -> Any:
    if is_array:
        return []
    if nested is not None:
        return {f.attribute: f.default for f in nested.fields}
    return {"string": "", "bytes": b"", "uuid": ZERO_UUID}.get(type_name, 0)
