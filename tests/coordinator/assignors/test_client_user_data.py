"""User data of the sticky assignors: what members report of the partitions that they had."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.coordinator.assignors.client_members import (
    Claim,
    decode_generation,
    decode_sticky,
)
from tests.coordinator.assignors.kafka_answers import questions, topic_partitions

FOO_0_AND_1 = "00000001 0003 666f6f 00000002 00000000 00000001"


@pytest.mark.parametrize("question", questions("client.jsonl", "user_data"))
@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_user_data_is_that_of_kafka_s_own_classes(question: dict[str, Any], assignor: str) -> None:
    """Topics in the order of a HashMap, partitions as they were assigned, then the generation."""
    last = Claim(topic_partitions(question["held"]), question["generation"])
    user_data = CLIENT_ASSIGNORS[assignor].user_data(last)
    assert user_data is not None
    assert user_data.hex() == question["answer"][assignor]


@pytest.mark.parametrize(
    ("assignor", "user_data"),
    [("range", None), ("roundrobin", None), ("sticky", None), ("cooperative-sticky", "ffffffff")],
)
def test_new_members_had_nothing(assignor: str, user_data: str | None) -> None:
    """Before its first assignment a member reports nothing, or no generation."""
    found = CLIENT_ASSIGNORS[assignor].user_data(None)
    assert (found and found.hex()) == user_data


@pytest.mark.parametrize(
    ("user_data", "claim"),
    [
        (FOO_0_AND_1 + "00000005", Claim((("foo", 0), ("foo", 1)), 5)),
        (FOO_0_AND_1, Claim((("foo", 0), ("foo", 1)), -1)),
        (FOO_0_AND_1 + "0000", Claim((("foo", 0), ("foo", 1)), -1)),
        ("00000000", Claim()),
        ("", Claim()),
        (FOO_0_AND_1[:-2], Claim()),
        ("00000001 7fff 666f6f", Claim()),
        ("ffffffff", Claim()),
        ("00000001 ffff", Claim()),
        ("00000001 0003 666fff 00000000", Claim()),
    ],
)
def test_claims_are_read_from_both_schemas_and_damage_claims_nothing(
    user_data: str, claim: Claim
) -> None:
    """Schema 1 with the generation, schema 0 without it, and bytes that are neither."""
    assert decode_sticky(bytes.fromhex(user_data)) == claim


@pytest.mark.parametrize(
    ("user_data", "generation"), [(None, -1), ("", -1), ("0000", -1), ("00000007", 7)]
)
def test_generations_are_read_where_there_is_one(user_data: str | None, generation: int) -> None:
    """User data of cooperative-sticky that is missing or too short has no generation."""
    data = None if user_data is None else bytes.fromhex(user_data)
    assert decode_generation(data) == generation


@given(st.binary(max_size=40))
def test_no_user_data_breaks_the_reader(user_data: bytes) -> None:
    """Members can send any bytes: the leader continues without them."""
    decode_sticky(user_data)
    decode_generation(user_data)
