"""The schema files: complete, and strict about what they may say."""

import json
from typing import Any

import pytest

from rebalance_audit import resources
from rebalance_audit.wire.generated.messages import KEY_CLASSES, VALUE_CLASSES, RecordType
from rebalance_audit.wire.schema import SchemaError, load_catalogue, record_schemas

FIELD = {"name": "GroupId", "type": "string", "versions": "0+", "about": "Id of the group."}
KEY: dict[str, Any] = {
    "recordType": 3,
    "kind": "key",
    "name": "SomeKey",
    "versions": "0",
    "flexibleVersions": "none",
    "about": "A key.",
    "provenance": {"0": "3.7"},
    "fields": [FIELD],
}
VALUE = KEY | {"kind": "value", "name": "SomeValue", "flexibleVersions": "0+"}
PART = {"name": "Part", "about": "A part.", "fields": [FIELD]}
PART_FIELD = FIELD | {"name": "Parts", "type": "[]Part"}


def loaded(*messages: dict[str, Any] | str) -> None:
    """Load these messages as files 0.json, 1.json and so on."""
    texts = [m if isinstance(m, str) else json.dumps(m) for m in messages]
    load_catalogue({f"{number}.json": text for number, text in enumerate(texts)})


def test_the_smallest_catalogue_loads() -> None:
    """The schema from which the refused ones below are derived is accepted."""
    loaded(KEY, VALUE | {"structs": [PART], "fields": [PART_FIELD]})


REFUSED: list[tuple[str, tuple[dict[str, Any] | str, ...], str]] = [
    (
        "a type twice",
        (KEY, VALUE, KEY | {"name": "OtherKey"}),
        "2.json: a second key of record type 3",
    ),
    ("a key alone", (KEY,), "record type 3 has a key but no value"),
    ("a value alone", (VALUE,), "record type 3 has a value but no key"),
    (
        "an attribute of a message",
        (KEY | {"abuot": ""}, VALUE),
        "0.json: SomeKey: unknown attribute abuot",
    ),
    (
        "an attribute of a field",
        (KEY | {"fields": [FIELD | {"nullable": True}]}, VALUE),
        "SomeKey, field GroupId: unknown attribute nullable",
    ),
    (
        "an attribute of a struct",
        (KEY, VALUE | {"structs": [PART | {"versions": "0"}], "fields": [PART_FIELD]}),
        "struct Part: unknown attribute versions",
    ),
    (
        "an attribute of a layout",
        (KEY, VALUE | {"layouts": [{"name": "3.7", "kind": "value"}]}),
        "layout 3.7: unknown attribute kind",
    ),
    ("an attribute given twice", ('{"kind": "key", "kind": "value"}',), "is given twice"),
    ("no JSON", ("{",), "0.json: "),
    (
        "a missing attribute",
        ({name: KEY[name] for name in KEY if name != "about"}, VALUE),
        "attribute about is missing",
    ),
    ("a kind", (KEY | {"kind": "header"},), "kind 'header' is none of"),
    (
        "an embedded message with a type",
        (KEY | {"kind": "embedded"},),
        "embedded messages have none",
    ),
    ("a range of versions", (KEY | {"versions": "3-1"},), "'3-1' is no version range"),
    ("versions without end", (KEY | {"versions": "0+"},), "versions of a message have an end"),
    (
        "provenance of another version",
        (KEY | {"provenance": {"1": "3.7"}},),
        "provenance must name",
    ),
    (
        "an unknown type name",
        (KEY | {"fields": [FIELD | {"type": "text"}]},),
        "text is neither a primitive nor a struct",
    ),
    (
        "a struct in itself",
        (KEY, VALUE | {"structs": [PART | {"fields": [PART_FIELD]}], "fields": [PART_FIELD]}),
        "struct Part contains itself",
    ),
    ("a struct that nothing uses", (KEY | {"structs": [PART]},), "nothing uses struct Part"),
    ("a field twice", (KEY | {"fields": [FIELD, FIELD]},), "a name or tag occurs twice"),
    (
        "a null number",
        (KEY | {"fields": [FIELD | {"type": "int32", "nullableVersions": "0+"}]},),
        "int32 cannot be null",
    ),
    (
        "a default null",
        (KEY | {"fields": [FIELD | {"default": None}]},),
        "default null on a field that is never null",
    ),
    (
        "a tag without versions",
        (KEY | {"fields": [FIELD | {"tag": 0}]},),
        "tag and taggedVersions go together",
    ),
    (
        "two layouts of a name",
        (
            KEY,
            VALUE
            | {
                "layouts": [{"name": "3.7", "versions": "0", "about": "", "fields": [FIELD]}] * 2,
            },
        ),
        "layouts need fields and names of their own",
    ),
    ("no fields at all", ({n: KEY[n] for n in KEY if n != "fields"},), "layouts need fields"),
]


@pytest.mark.parametrize(
    ("messages", "complaint"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_a_broken_schema_is_refused(
    messages: tuple[dict[str, Any] | str, ...], complaint: str
) -> None:
    """Whatever the grammar does not know is an error that names file and position."""
    with pytest.raises(SchemaError) as refusal:
        loaded(*messages)
    assert complaint in str(refusal.value)


def test_every_record_type_has_its_key_and_value() -> None:
    """The types 0 to 24, including removed and planned ones, with every value version."""
    catalogue = record_schemas()
    assert list(catalogue.keys) == list(catalogue.values) == list(RecordType) == list(range(25))
    assert set(KEY_CLASSES) == set(VALUE_CLASSES) == set(RecordType)
    later = {number: len(m.version_numbers()) for number, m in catalogue.values.items()}
    assert {number: count for number, count in later.items() if count > 1} == {1: 5, 2: 5}
    early = {
        number: [layout.name for layout in m.layouts]
        for number, m in catalogue.values.items()
        if [layout.name for layout in m.layouts] != [""]
    }
    assert early == {
        2: ["", "redpanda"],
        4: ["", "3.7"],
        5: ["", "3.7"],
        7: ["", "3.7"],
        8: ["", "3.7"],
        9: ["4.0", "3.9"],
        11: ["", "4.0"],
        15: ["", "4.0"],
    }
    assert {name: len(m.version_numbers()) for name, m in catalogue.embedded.items()} == {
        "ConnectAssignment": 3,
        "ConnectWorkerState": 3,
        "ConsumerProtocolAssignment": 4,
        "ConsumerProtocolSubscription": 4,
        "StreamsAssignmentInfo": 11,
        "StreamsSubscriptionInfo": 11,
    }


def test_every_field_is_explained() -> None:
    """Each schema, struct and field has a sentence, and each file is named after its message."""
    for path in resources.list_files("schemas/records", ".json"):
        schema = json.loads(resources.read_text(path))
        number = "embedded" if schema["kind"] == "embedded" else f"{schema['recordType']:02}"
        assert path.removeprefix("schemas/records/").startswith(f"{number}-")
    for message in record_schemas().messages():
        for layout in message.layouts:
            for struct in (layout.body, *layout.structs.values()):
                for about in (struct.about, *(field.about for field in struct.fields)):
                    assert about.endswith("."), f"{message.name}: {about!r}"


def test_fields_that_may_be_missing_say_what_that_means() -> None:
    """Those that are younger than their record, and those with a tag; the words are a closed list."""
    absences = record_schemas().absences()
    for message in record_schemas().values.values():
        for struct in (message.layouts[0].body, *message.layouts[0].structs.values()):
            for field in struct.fields:
                if field.tag is not None:
                    assert absences[message.name, field.name].since, (message.name, field.name)
    for absent in ({}, {"before": "no"}, {"before": "none", "since": "none"}):
        with pytest.raises(SchemaError, match="absent needs provenance"):
            loaded(KEY, VALUE | {"fields": [FIELD | {"provenance": "4.1", "absent": absent}]})
