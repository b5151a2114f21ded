"""The codec that walks the schema. Slow and plain: it defines what `decoders` must do.

Values are dicts by attribute name (a struct), lists (an array), str, bytes, int and None. It reads
whatever Kafka's own generated readers read, even encodings that no writer produces.
"""

import struct
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.wire.primitives import (
    SCALARS,
    STRING_BYTES_MAX,
    CorruptError,
    DecodeError,
    TruncatedError,
    read_uvarint,
    read_wrapping_uvarint,
    uvarint,
)
from rebalance_audit.wire.schema import Field, Layout, Message, Struct

TOP: Final = ""
"""Path of the message itself."""


class UnknownTag(NamedTuple):
    """A tagged field that the schema does not have."""

    path: str
    """Path of the struct that holds it, in JSON names: `TOP`, `members[3]`."""
    tag: int
    data: bytes


UnknownTags: TypeAlias = tuple[UnknownTag, ...]


class Decoded(NamedTuple):
    """A message read from bytes."""

    value: dict[str, Any]
    unknown_tags: UnknownTags
    end_position: int
    """The position after the last byte of the message; more bytes may follow."""
    odd: bool
    """Whether a field has a value that no release writes: another layout may fit better."""


def decode(
    message: Message,
    version: int,
    layout: Layout,
    data: bytes,
    position: int = 0,
    *,
    as_java: bool = False,
    without_tags: Collection[tuple[str, int]] = (),
) -> Decoded:
    """Read one message. Raises DecodeError with path and position.

    `as_java`: also what no writer produces is read as Kafka's own readers do, where a decoder for people
    had better refuse it: text that is not UTF-8 gets U+FFFD for what is wrong, tags come in any order, and
    numbers of five bytes wrap around. `without_tags`: tags (struct, number) that an earlier reader does not know.
    """
    flexible = message.is_flexible(version)
    reader = _Reader(data, position, version, layout, flexible=flexible, as_java=as_java)
    reader.without_tags = without_tags
    try:
        value = reader.struct(layout.body, TOP)
    except DecodeError as problem:
        problem.position = reader.position
        raise
    return Decoded(value, tuple(reader.unknown_tags), reader.position, reader.odd)


class Leading(NamedTuple):
    """The first fields of a message, as far as the bytes hold them."""

    value: dict[str, Any]
    """Without the fields that could not be read."""
    unread: tuple[str, ...]
    """JSON names of the fields that could not be read, in wire order; empty if the message is complete."""
    problem: DecodeError | None
    """Why the first of them could not be read."""


def decode_leading(
    message: Message, version: int, layout: Layout, data: bytes, position: int = 0
) -> Leading:
    """Read the fields of a message that is not flexible up to the first one that the bytes do not hold."""
    reader = _Reader(data, position, version, layout, flexible=message.is_flexible(version))
    value: dict[str, Any] = {}
    fields = layout.body.untagged(version)
    for place, field in enumerate(fields):
        try:
            value[field.attribute] = reader.located(field, field.json_name)
        except DecodeError as problem:
            problem.position = reader.position
            return Leading(value, tuple(each.json_name for each in fields[place:]), problem)
    return Leading(value, (), None)


def encode(
    message: Message,
    version: int,
    layout: Layout,
    value: Mapping[str, Any],
    unknown_tags: Iterable[UnknownTag] = (),
) -> bytes:
    """Bytes of one message. Raises ValueError that names the field.

    A field that the version or layout does not have must hold the value it reads as there, or it would be lost.
    """
    flexible = message.is_flexible(version)
    tags: dict[str, list[UnknownTag]] = {}
    for tag in unknown_tags:
        tags.setdefault(tag.path, []).append(tag)
    writer = _Writer(version, layout, tags, flexible=flexible)
    writer.struct(layout.body, value, TOP)
    if tags:
        raise ValueError(f"{message.name}: unknown tags for {', '.join(sorted(tags))}, not written")
    return b"".join(writer.parts)


def encode_leading(
    message: Message,
    version: int,
    layout: Layout,
    value: Mapping[str, Any],
    unread: Collection[str] = (),
) -> bytes:
    """Bytes of the fields before those of `unread`, as `decode_leading` reads them.

    Raises ValueError that names the field.
    """
    writer = _Writer(version, layout, {}, flexible=message.is_flexible(version))
    for field in layout.body.untagged(version):
        if field.json_name in unread:
            break
        writer.field(field, value[field.attribute], field.json_name)
    return b"".join(writer.parts)


def _below(path: str, field: Field) -> str:
    return f"{path}.{field.json_name}" if path else field.json_name


class _Reader:
    def __init__(
        self,
        data: bytes,
        position: int,
        version: int,
        layout: Layout,
        *,
        flexible: bool,
        as_java: bool = False,
    ) -> None:
        self.data = data
        self.position = position
        self.version = version
        self.layout = layout
        self.flexible = flexible
        self.as_java = as_java
        self.without_tags: Collection[tuple[str, int]] = ()
        self.unknown_tags: list[UnknownTag] = []
        self.odd = False

    def struct(self, shape: Struct, path: str) -> dict[str, Any]:
        """Read the fields of a struct, its tag section included."""
        value: dict[str, Any] = {}
        for field in shape.untagged(self.version):
            value[field.attribute] = self.located(field, _below(path, field))
        if self.flexible:
            self._tag_section(shape, value, path)
        return value

    def located(self, field: Field, path: str) -> Any:
        """Read one field; a DecodeError names its path."""
        try:
            return self._field(field, path)
        except DecodeError as problem:
            problem.path = problem.path or path
            raise

    def _field(self, field: Field, path: str) -> Any:
        nullable = field.is_nullable(self.version)
        if field.is_array:
            value = self._array(field, path)
        elif field.is_struct:
            value = self._struct_or_null(field, path, nullable=nullable)
        else:
            value = self._primitive(field.type_name)
            if field.known and value not in field.known:
                self.odd = True
        if value is None and not nullable:
            raise CorruptError("null in a field that is never null")
        return value

    def _struct_or_null(self, field: Field, path: str, *, nullable: bool) -> Any:
        if nullable:
            # Kafka takes any negative mark as null, and 0 as present where the field is untagged.
            tagged = field.is_tagged(self.version)
            if (self._uvarint() == 0) if tagged else (self._scalar("int8") < 0):
                return None
        return self.struct(self.layout.structs[field.type_name], path)

    def _array(self, field: Field, path: str) -> list[Any] | None:
        count = self._length("int32")
        if count is None:
            return None
        if count > len(self.data) - self.position:  # an element has at least one byte
            raise TruncatedError(f"an array of {count} elements in fewer bytes")
        if field.is_struct:
            shape = self.layout.structs[field.type_name]
            return [self.struct(shape, f"{path}[{index}]") for index in range(count)]
        elements = [self._primitive(field.type_name) for _ in range(count)]
        if None in elements:
            raise CorruptError("null in an array of values that are never null")
        return elements

    def _primitive(self, type_name: str) -> Any:
        if type_name == "string":
            length = self._length("int16")
            if length is None:
                return None
            if length > STRING_BYTES_MAX:
                raise CorruptError(f"a string of {length} bytes")
            try:
                return self._take(length).decode(errors="replace" if self.as_java else "strict")
            except UnicodeDecodeError as problem:
                raise CorruptError("a string that is not UTF-8") from problem
        if type_name == "bytes":
            length = self._length("int32")
            return None if length is None else self._take(length)
        return self._scalar(type_name)

    def _length(self, plain_type: str) -> int | None:
        """Length of a string, bytes or array; None = null."""
        if self.flexible:
            compact = self._uvarint()
            return compact - 1 if compact else None
        length: int = self._scalar(plain_type)
        return length if length >= 0 else None  # Kafka takes any negative length as null

    def _tag_section(self, shape: Struct, value: dict[str, Any], path: str) -> None:
        tagged = {field.tag: field for field in shape.tagged(self.version)}
        previous_tag = -1
        for _ in range(self._uvarint()):
            tag = self._uvarint()
            size = self._uvarint()
            if tag <= previous_tag and not self.as_java:
                raise CorruptError(f"tag {tag} after tag {previous_tag}")
            previous_tag = tag
            field = tagged.get(tag)
            if field is None or (shape.name, tag) in self.without_tags:
                self.unknown_tags.append(UnknownTag(path, tag, self._take(size)))
                continue
            # Kafka reads a known tag by its type and never looks at the size.
            value[field.attribute] = self.located(field, _below(path, field))
        for field in tagged.values():
            value.setdefault(field.attribute, field.default)

    def _uvarint(self) -> int:
        if self.as_java:
            value, self.position = read_wrapping_uvarint(self.data, self.position)
        else:
            value, self.position = read_uvarint(self.data, self.position)
        return value

    def _scalar(self, type_name: str) -> Any:
        scalar = SCALARS[type_name]
        return scalar.unpack(self._take(scalar.size))[0]

    def _take(self, size: int) -> bytes:
        if size < 0:
            raise CorruptError(f"a size of {size}")
        end = self.position + size
        if end > len(self.data):
            missing = end - len(self.data)
            raise TruncatedError(f"the bytes end {missing} before the field does")
        taken = self.data[self.position : end]
        self.position = end
        return taken


class _Writer:
    def __init__(
        self, version: int, layout: Layout, tags: dict[str, list[UnknownTag]], *, flexible: bool
    ) -> None:
        self.version = version
        self.layout = layout
        self.flexible = flexible
        self.tags = tags
        """Unknown tags still to be written, by path."""
        self.parts: list[bytes] = []

    def struct(self, shape: Struct, value: Mapping[str, Any], path: str) -> None:
        """Write the fields of a struct, its tag section included."""
        untagged = shape.untagged(self.version)
        tagged = shape.tagged(self.version)
        for field in untagged:
            self.field(field, value[field.attribute], _below(path, field))
        if self.flexible:
            self._tag_section(tagged, value, path)
        held = {field.attribute for field in (*untagged, *tagged)}
        for field in shape.fields:
            lacking = value.get(field.attribute, field.if_lacking)
            if field.attribute not in held and lacking != field.if_lacking:
                where = _below(path, field)
                raise ValueError(f"{where} does not exist in version {self.version}")

    def field(self, field: Field, value: Any, path: str) -> None:
        nullable = field.is_nullable(self.version)
        if value is None and not nullable:
            raise ValueError(f"{path} is None and is never null")
        if field.is_array:
            self._array(field, value, path)
        elif field.is_struct:
            self._struct_or_null(field, value, path, nullable=nullable)
        else:
            self._primitive(field.type_name, value, path)

    def _struct_or_null(self, field: Field, value: Any, path: str, *, nullable: bool) -> None:
        if nullable:
            null_mark = b"\x00" if field.is_tagged(self.version) else b"\xff"
            self.parts.append(null_mark if value is None else b"\x01")
        if value is not None:
            self.struct(self.layout.structs[field.type_name], value, path)

    def _array(self, field: Field, value: Any, path: str) -> None:
        self._length("int32", None if value is None else len(value), path)
        for index, element in enumerate(value or ()):
            inner = f"{path}[{index}]"
            if field.is_struct:
                self.struct(self.layout.structs[field.type_name], element, inner)
            elif element is None:
                raise ValueError(f"{inner} is None and is never null")
            else:
                self._primitive(field.type_name, element, inner)

    def _primitive(self, type_name: str, value: Any, path: str) -> None:
        if type_name == "string":
            self._blob("int16", None if value is None else _utf8(value, path), path)
        elif type_name == "bytes":
            self._blob("int32", value, path)
        elif type_name == "uuid" and len(value) != SCALARS["uuid"].size:
            raise ValueError(f"{path} has {len(value)} bytes and a uuid has 16")
        else:
            self.parts.append(_packed(type_name, value, path))

    def _blob(self, plain_type: str, value: bytes | None, path: str) -> None:
        self._length(plain_type, None if value is None else len(value), path)
        if value is not None:
            self.parts.append(value)

    def _length(self, plain_type: str, length: int | None, path: str) -> None:
        if self.flexible:
            self.parts.append(uvarint(0 if length is None else length + 1))
        else:
            self.parts.append(_packed(plain_type, -1 if length is None else length, path))

    def _tag_section(self, fields: Iterable[Field], value: Mapping[str, Any], path: str) -> None:
        sections: dict[int, bytes] = {}
        for field in fields:
            inner = _below(path, field)
            if value[field.attribute] == field.default and inner not in self.tags:
                continue
            outer, self.parts = self.parts, []
            self.field(field, value[field.attribute], inner)
            assert field.tag is not None
            sections[field.tag], self.parts = b"".join(self.parts), outer
        for unknown in self.tags.pop(path, ()):
            if unknown.tag in sections:
                raise ValueError(f"{path or 'the message'} has tag {unknown.tag} twice")
            sections[unknown.tag] = unknown.data
        self.parts.append(uvarint(len(sections)))
        for tag in sorted(sections):
            self.parts += (uvarint(tag), uvarint(len(sections[tag])), sections[tag])


def _utf8(text: str, path: str) -> bytes:
    try:
        encoded = text.encode()
    except UnicodeEncodeError as problem:
        raise ValueError(f"{path} is no text that UTF-8 can hold: {problem.reason}") from problem
    if len(encoded) > STRING_BYTES_MAX:
        raise ValueError(f"{path} has {len(encoded)} bytes and a string at most {STRING_BYTES_MAX}")
    return encoded


def _packed(type_name: str, value: Any, path: str) -> bytes:
    try:
        return SCALARS[type_name].pack(value)
    except struct.error as problem:
        raise ValueError(f"{path} = {value!r} is no {type_name}: {problem}") from problem
