"""Decoders of coordinator records, compiled from `schemas/records` when a record first needs one.

A log has some ten of the hundred messages, versions and layouts. One takes a millisecond or two, all take a tenth of
a second. Tests hold each to the generic codec, which defines what bytes mean.

The text of a decoder is written field by field for one message, version and layout. Three things make it fast. Adjacent
fixed-width fields, together with the length that follows them, are read by one unpack. The position is a variable plus
a distance known at generation time. And nothing is checked twice: `decoder_runtime` says what a decoder leaves to the
generic codec.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.wire import decoder_runtime, instances
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.generated.messages import Key, RecordType, Value
from rebalance_audit.wire.primitives import SCALARS
from rebalance_audit.wire.schema import Field, Layout, Message, Struct, message_named

_CODES: Final = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint8": "B",
    "uuid": "16s",
}
"""Of `struct`."""

_WIDTHS: Final = {"uint8": 1} | {name: scalar.size for name, scalar in SCALARS.items()}
_VECTORS: Final = {"int16": "int16s", "int32": "int32s", "uuid": "uuids"}


class Unit(NamedTuple):
    """One version and layout of a message: what one decoder reads."""

    message: Message
    version: int
    layout: Layout


class DecoderSource(NamedTuple):
    """The text of a decoder, and what it calls and makes."""

    text: str
    """Of a module with the function `decode`: bytes that begin with the record type or the version -> instance."""
    names: dict[str, Any]


def decoder_text(unit: Unit) -> DecoderSource:
    """The decoder of a unit.

    It reads the clean form of its message, to the last byte, and raises `decoder_runtime.FAILURES` at anything else;
    only an embedded message may be followed by more bytes.
    """
    message, layout = unit.message, unit.layout
    names = vars(decoder_runtime) | {"new": tuple.__new__}
    structs = (*layout.structs.values(), layout.body)
    in_arrays = {
        field.type_name
        for each in structs
        for field in each.fields
        if field.is_struct and field.is_array and field.versions.holds(unit.version)
    }
    texts: list[str] = []
    for name, shape in layout.structs.items():
        if name in in_arrays:
            texts.append(_array_reader(unit, shape, names))
    body = _Body(unit, names, distance=2)  # after the record type, or the value version
    body.line("def decode(data):")
    with body.indented():
        body.line("p = 0")
        made = body.struct(layout.body)
        body.flush()
        relation = ">" if message.kind == "embedded" else "!="
        body.refuse_if(f"{body.position()} {relation} len(data)")
        body.line(f"return {made}")
    return DecoderSource("\n".join([*texts, body.text()]), names)


def _array_reader(unit: Unit, shape: Struct, names: dict[str, Any]) -> str:
    body = _Body(unit, names, distance=0)
    body.line(f"def {_reader_of(shape.name)}(data, p, count):")
    with body.indented():
        body.line("items = []")
        body.line("add = items.append")
        body.line("for _ in range(count):")
        with body.indented():
            made = body.struct(shape)
            body.settle()
            body.line(f"add({made})")
        body.line("return tuple(items), p")
    return body.text()


def _reader_of(struct_name: str) -> str:
    return f"read_array_of_{struct_name}"


class _Pending(NamedTuple):
    type_name: str
    variable: str
    check: str | None


class _Body:
    """Source of one function under construction, and how far it has read.

    The next byte is at `p + distance`, after the pending fixed-width fields.
    """

    def __init__(self, unit: Unit, names: dict[str, Any], *, distance: int) -> None:
        self.unit = unit
        self.names = names
        self.distance = distance
        self.flexible = unit.message.is_flexible(unit.version)
        self.pending: list[_Pending] = []
        self.lines: list[str] = []
        self.level = 0
        self.used: set[str] = set()

    def text(self) -> str:
        return "\n".join(self.lines)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.level + text)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.level += 1
        yield
        self.level -= 1

    def position(self, further: int = 0) -> str:
        """Expression of the place `further` bytes after the next one."""
        distance = self.distance + further
        if not distance:
            return "p"
        return f"p + {distance}" if distance > 0 else f"p - {-distance}"

    def settle(self) -> None:
        """Make `p` itself the place of the next byte."""
        self.flush()
        if self.distance:
            self.line(f"p += {self.distance}")
        self.distance = 0

    def flush(self) -> None:
        pending, self.pending = self.pending, []
        if not pending:
            return
        types = [field.type_name for field in pending]
        width = sum(_WIDTHS[name] for name in types)
        if types == ["uint8"]:
            self.line(f"{pending[0].variable} = data[{self.position()}]")
        elif types == ["uuid"]:
            # A slice, which is checked with the end of the bytes.
            self.line(f"{pending[0].variable} = data[{self.position()} : {self.position(width)}]")
        else:
            names = ", ".join(field.variable for field in pending)
            comma = "," if len(pending) == 1 else ""
            self.line(f"{names}{comma} = {self._unpack(types)}(data, {self.position()})")
        self.distance += width
        for field in pending:
            if field.check:
                self.refuse_if(field.check)

    def _unpack(self, type_names: Iterable[str]) -> str:
        """Name of the function that reads these types at once."""
        codes = "".join(_CODES[name] for name in type_names)
        self.names[f"unpack_{codes}"] = struct.Struct(f">{codes}").unpack_from
        return f"unpack_{codes}"

    def _value(self, value: Any) -> str:
        """Name of a value that is known already."""
        name = f"value_{len(self.names)}"
        self.names[name] = value
        return name

    def refuse_if(self, condition: str) -> None:
        self.line(f"if {condition}:")
        self.line("    raise UnfitError")

    def fresh(self, name: str) -> str:
        candidate, number = name, 1
        while candidate in self.used:
            number += 1
            candidate = f"{name}_{number}"
        self.used.add(candidate)
        return candidate

    def length(self, plain_type: str) -> None:
        """Read a length into `n`, in one unpack with what is pending."""
        self.pending.append(_Pending("uint8" if self.flexible else plain_type, "n", None))
        self.flush()

    def struct(self, shape: Struct) -> str:
        """Read a struct; returns the expression that makes it. Fixed-width fields may be pending."""
        values: dict[str, str] = {}
        for field in shape.untagged(self.unit.version):
            values[field.attribute] = self.fresh(field.attribute)
            self.field(field, values[field.attribute])
        if self.flexible:
            tagged = shape.tagged(self.unit.version)
            for field in tagged:
                values[field.attribute] = self.fresh(field.attribute)
            self.tag_section(tagged, values)
        self.flush()
        made = instances.class_of(self.unit.message, shape)
        self.names[made.__name__] = made
        arguments = [
            values.get(name) or self._value(made._field_defaults[name]) for name in made._fields
        ]
        comma = "," if len(arguments) == 1 else ""
        return f"new({made.__name__}, ({', '.join(arguments)}{comma}))"

    def field(self, field: Field, variable: str) -> None:
        """Read one field into a variable, or leave it pending."""
        nullable = field.is_nullable(self.unit.version)
        if field.is_array:
            self.array(field, variable, nullable=nullable)
        elif field.is_struct:
            self.nested_struct(field, variable, nullable=nullable)
        elif field.type_name == "string":
            self.blob("int16", "long_string", ".decode()", variable, nullable=nullable)
        elif field.type_name == "bytes":
            self.blob("int32", "long_length", "", variable, nullable=nullable)
        else:
            check = f"{variable} not in {field.known}" if field.known else None
            self.pending.append(_Pending(field.type_name, variable, check))

    def blob(
        self, plain_type: str, long_reader: str, suffix: str, variable: str, *, nullable: bool
    ) -> None:
        ahead = -1 if self.flexible else 0
        with self._counted(plain_type, long_reader, variable, nullable=nullable):
            self.line(f"e = {self.position(ahead)} + n")
            self.line(f"{variable} = data[{self.position()} : e]{suffix}")
            self.line("p = e")
        self.distance = 0

    def array(self, field: Field, variable: str, *, nullable: bool) -> None:
        count, most = ("n - 1", 65) if self.flexible else ("n", 64)
        with self._counted("int32", "long_length", variable, nullable=nullable):
            if field.is_struct:
                reader = _reader_of(field.type_name)
                some = "n > 1" if self.flexible else "n"
                self.line(
                    f"{variable}, p = {reader}(data, {self.position()}, {count})"
                    f" if {some} else ((), {self.position()})"
                )
            elif field.type_name in _VECTORS:
                self._vector(field.type_name, variable, count, most)
            else:
                self._text_array(variable, count)
        self.distance = 0

    @contextmanager
    def _counted(
        self, plain_type: str, long_reader: str, variable: str, *, nullable: bool
    ) -> Iterator[None]:
        """Read the length `n` of what is not null, one too much in a flexible layout; inside, that is read."""
        self.length(plain_type)
        if nullable:
            self.line(f"if n == {0 if self.flexible else -1}:")
            self.line(f"    {variable} = None")
            self.line(f"    p += {self.distance}")
            self.line("else:")
            self.level += 1
        if self.flexible:
            self.line("if n > 127:" if nullable else "if not 0 < n < 128:")
            before = self.position(-1)
            self.line(f"    n, p = {long_reader}(data, {before}, {self.distance})")
        else:
            self.refuse_if("n < 0")
        yield
        if nullable:
            self.level -= 1

    def _vector(self, type_name: str, variable: str, count: str, most: int) -> None:
        reader = _VECTORS[type_name]
        place = self.position()
        read = f"{reader}(data, {place}, {count})"
        if type_name != "uuid":
            read = f"{reader.upper()}[{count}](data, {place}) if n < {most} else {read}"
        self.line(f"{variable} = {read}")
        width = _WIDTHS[type_name]
        step = self.distance - width if self.flexible else self.distance
        self.line(f"p += {width} * n {'+' if step >= 0 else '-'} {abs(step)}")

    def _text_array(self, variable: str, count: str) -> None:
        self.settle()
        items = self.fresh("texts")
        self.line(f"{items} = []")
        self.line(f"for _ in range({count}):")
        with self.indented():
            self.blob("int16", "long_string", ".decode()", "text", nullable=False)
            self.line(f"{items}.append(text)")
        self.line(f"{variable} = tuple({items})")

    def nested_struct(self, field: Field, variable: str, *, nullable: bool) -> None:
        """Read a struct inside a struct; null is marked by one byte."""
        shape = self.unit.layout.structs[field.type_name]
        if not nullable:
            self.line(f"{variable} = {self.struct(shape)}")
            return
        tagged = field.is_tagged(self.unit.version)
        self.pending.append(_Pending("uint8" if tagged else "int8", "n", None))
        self.settle()
        self.line(f"if n == {0 if tagged else -1}:")
        self.line(f"    {variable} = None")
        self.line("elif n == 1:")
        with self.indented():
            made = self.struct(shape)
            self.settle()
            self.line(f"{variable} = {made}")
        self.line("else:")
        self.line("    raise UnfitError")

    def tag_section(self, tagged: tuple[Field, ...], values: dict[str, str]) -> None:
        """Read a tag section that holds known tags only."""
        if not tagged:
            self.pending.append(_Pending("uint8", "n", "n"))
            return
        self.pending.append(_Pending("uint8", "n", None))
        self.settle()
        for field in tagged:
            default = instances.held_by(self.unit.message, self.unit.layout, field, field.default)
            self.line(f"{values[field.attribute]} = {self._value(default)}")
        if len(tagged) == 1:
            self.line("if n:")
            with self.indented():
                self.refuse_if(f"n != 1 or data[p] != {tagged[0].tag}")
                self.line("p += 1")
                self._tag(tagged[0], values)
            return
        previous = self.fresh("previous_tag")
        tag = self.fresh("tag")
        self.line(f"{previous} = -1")
        self.line("for _ in range(n):")
        with self.indented():
            self.line(f"{tag} = data[p]")
            self.refuse_if(f"{tag} <= {previous}")
            self.line(f"{previous} = {tag}")
            self.line("p += 1")
            for index, field in enumerate(tagged):
                self.line(f"{'elif' if index else 'if'} {tag} == {field.tag}:")
                with self.indented():
                    self._tag(field, values)
            self.line("else:")
            self.line("    raise UnfitError")

    def _tag(self, field: Field, values: dict[str, str]) -> None:
        end = self.fresh("end")
        self.line(f"{end} = p + 1 + data[p]")
        self.line("p += 1")
        self.line(f"if {end} - p > 127:")
        self.line(f"    {end}, p = read_uvarint(data, p - 1)")
        self.line(f"    {end} += p")
        self.field(field, values[field.attribute])
        self.settle()
        self.refuse_if(f"p != {end}")


KeyDecoder: TypeAlias = Callable[[bytes], Key]
ValueDecoder: TypeAlias = Callable[[bytes], Value]

_KEPT: Final = 1024
"""Any writer can name 65,536 versions of each record type; only some sixty of them exist."""
_TYPES: Final = {record_type.value: record_type for record_type in RecordType}


@cache
def key_decoder(prefix: bytes) -> tuple[RecordType, KeyDecoder]:
    """By the first two bytes of a key. Raises KeyError for a type that no record has."""
    record_type = _TYPES[int.from_bytes(prefix)]
    message = message_named(messages.KEY_CLASSES[record_type].__name__)
    return record_type, _decoder(Unit(message, 0, *message.layouts))


@lru_cache(_KEPT)
def value_decoders(
    record_type: RecordType, prefix: bytes
) -> tuple[tuple[int, str, ValueDecoder], ...]:
    """By the first two bytes of a value: version, layout and decoder, newest layout first; empty for none."""
    message = message_named(messages.VALUE_CLASSES[record_type].__name__)
    version = int.from_bytes(prefix, signed=True)
    return tuple(
        (version, layout.name, _decoder(Unit(message, version, layout)))
        for layout in message.layouts_of(version)
    )


@cache
def embedded_decoder(name: str, version: int) -> Callable[[bytes], Any]:
    """By message and version. Raises ValueError for an unknown message."""
    message = message_named(name)
    return _decoder(Unit(message, version, *message.layouts_of(version)))


def _decoder(unit: Unit) -> Callable[[bytes], Any]:
    return function_of("decode", unit, *decoder_text(unit))


def function_of(name: str, unit: Unit, text: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    """The function of that name in a module's text, which was made for a unit and finds `names` around it."""
    where = f"<{name} {unit.message.name}, version {unit.version} {unit.layout.name}>"
    exec(compile(text, where, "exec"), names)  # noqa: S102 - the text is made of the package's own schemas
    found: Callable[[Any], Any] = names[name]
    return found
