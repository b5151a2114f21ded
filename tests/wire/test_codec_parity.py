"""The generic codec defines the meaning: round trips test it, and parity tests hold the compiled decoders to it."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.wire import generic, instances
from rebalance_audit.wire.decoder_runtime import FAILURES
from rebalance_audit.wire.decoders import Unit, embedded_decoder, key_decoder, value_decoders
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.primitives import DecodeError
from rebalance_audit.wire.records import Record, decode_record, decode_record_by_schema
from rebalance_audit.wire.schema import record_schemas
from tests.support.examples import examples
from tests.wire.golden_records import all_golden
from tests.wire.mutation import mutated
from tests.wire.schema_values import UNITS, unit_name, values_of

PREFIX = bytes(2)
"""The bytes of the record type or the version; a decoder begins after them."""


def by_schema(unit: Unit, data: bytes) -> generic.Decoded | DecodeError:
    """What the generic codec reads."""
    try:
        return generic.decode(unit.message, unit.version, unit.layout, data, len(PREFIX))
    except DecodeError as problem:
        return problem


def decoder_of(unit: Unit) -> Callable[[bytes], Any]:
    """The compiled decoder that the tables have for one version and layout."""
    message = unit.message
    if message.record_type is None:
        return embedded_decoder(message.name, unit.version)
    if message.kind == "key":
        return key_decoder(message.record_type.to_bytes(2))[1]
    layouts = value_decoders(RecordType(message.record_type), unit.version.to_bytes(2))
    (decoder,) = (decode for _, layout, decode in layouts if layout == unit.layout.name)
    return decoder


def by_code(unit: Unit, data: bytes) -> Any:
    """What the compiled decoder reads; None when it refuses."""
    try:
        return decoder_of(unit)(data)
    except FAILURES:
        return None


@pytest.mark.parametrize("unit", UNITS, ids=unit_name)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_what_is_written_is_read_by_both_codecs(unit: Unit, data: st.DataObject) -> None:
    """Any value of any message, version and layout survives bytes, and both decoders agree on it."""
    value = data.draw(values_of(unit))
    written = PREFIX + generic.encode(unit.message, unit.version, unit.layout, value)
    read = by_schema(unit, written)
    assert isinstance(read, generic.Decoded)
    assert (read.value, read.end_position) == (value, len(written))
    assert (read.unknown_tags, read.odd) == ((), False)
    instance = instances.to_instance(unit.message, unit.layout, value)
    assert by_code(unit, written) == instance
    plain = instances.to_dict(unit.layout, instance)
    assert PREFIX + generic.encode(unit.message, unit.version, unit.layout, plain) == written


@pytest.mark.parametrize("unit", UNITS, ids=unit_name)
@settings(max_examples=examples(6))
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_the_compiled_decoder_reads_the_clean_form_and_no_other(
    unit: Unit, data: st.DataObject, seed: int
) -> None:
    """On damaged bytes it reads exactly what the generic codec reads as clean, or refuses."""
    value = data.draw(values_of(unit))
    written = PREFIX + generic.encode(unit.message, unit.version, unit.layout, value)
    chance = random.Random(seed)
    for _ in range(16):
        assert_parity(unit, PREFIX + mutated(written[2:], chance))


def assert_parity(unit: Unit, data: bytes) -> None:
    """Fail when one decoder accepts the bytes and the other does not, or reads something else."""
    embedded = unit.message.kind == "embedded"
    read = by_schema(unit, data)
    clean = (
        isinstance(read, generic.Decoded)
        and not (read.odd or read.unknown_tags)
        and (embedded or read.end_position == len(data))
    )
    instance = by_code(unit, data)
    if instance is not None:
        assert clean
        assert isinstance(read, generic.Decoded)
        assert instance == instances.to_instance(unit.message, unit.layout, read.value)
    elif clean:
        # Kafka's varints have many forms; the fast decoders only need to know the shortest one.
        assert isinstance(read, generic.Decoded)
        shortest = generic.encode(unit.message, unit.version, unit.layout, read.value)
        assert PREFIX + shortest != data[: read.end_position]


@pytest.mark.parametrize("trial", range(8))
def test_golden_bytes_and_their_mutants_mean_the_same_to_both(trial: int) -> None:
    """Real records, whole and damaged: same record or same failure with and without compiled code."""
    chance = random.Random(trial)
    outcomes = set()
    for key, value in all_golden():
        for damaged_key, damaged_value in (
            (key, value),
            (key, mutated(value, chance)),
            (key, mutated(mutated(value, chance), chance)),
            (mutated(key, chance), value),
        ):
            outcome = decode_record(damaged_key, damaged_value)
            assert outcome == decode_record_by_schema(damaged_key, damaged_value)
            outcomes.add(type(outcome) if isinstance(outcome, Record) else outcome.reason)
    assert {Record, "value_truncated", "value_corrupt", "key_truncated"} <= outcomes


def test_every_message_version_and_layout_was_tried() -> None:
    """The parametrised tests above cover all schemas."""
    assert len({unit_name(unit) for unit in UNITS}) == len(UNITS)
    assert {unit.message.name for unit in UNITS} == {m.name for m in record_schemas().messages()}
    for unit in UNITS:
        assert callable(decoder_of(unit)), unit_name(unit)
