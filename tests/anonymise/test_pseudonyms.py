"""What pseudonyms keep of a name, and what they do not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.anonymise.pseudonyms import Pseudonyms
from rebalance_audit.audit.findings.spellings import plain_expression
from rebalance_audit.audit.members.tally import common_name
from rebalance_audit.replay.java_order import partition_for
from rebalance_audit.wire.topic_names import ZERO_TOPIC_ID

PARTITIONS = 50
UUID = "9c2a6c1e-5b8a-4a35-9d7e-0f6b7c1d2e3f"

ODD = st.one_of(
    st.text(max_size=40),
    st.text("ab01-_.:/@ ^$()?", max_size=20),
    st.sampled_from(
        ("consumer", "range", "a", "ab", "abc", "/", "//", "é", "\\x00", "consumer-x-1")
    ),
    st.text(min_size=1, max_size=3).map(lambda part: part * 10_000),
)
"""Parts of each other, words of the protocol, texts that are not ASCII, and some as long as may be."""


def names() -> Pseudonyms:
    """Those of one key."""
    return Pseudonyms(b"a key of 16 byte", PARTITIONS)


@given(ODD, ODD)
def test_equal_names_alone_have_equal_pseudonyms(one: str, other: str) -> None:
    """Of each kind; the empty name stays."""
    of = names()
    makers = (of.group, of.topic, of.client, of.member, of.host, of.rack, of.connector, of.other)
    for make in makers:
        assert (make(one) == make(other)) == (one == other)
        assert make(one) == make(one)
        assert len(make(one)) < 60 + len(one)
        assert make("") == ""


@given(ODD)
def test_groups_stay_in_their_partition(group: str) -> None:
    """Clients look for a group where its id hashes to."""
    assert partition_for(names().group(group), PARTITIONS) == partition_for(group, PARTITIONS)


@given(ODD, ODD)
def test_processes_of_one_deployment_stay_one(one: str, other: str) -> None:
    """The audit knows them by what their names have in common."""
    of = names()
    assert (common_name(of.client(one)) == common_name(of.client(other))) == (
        common_name(one) == common_name(other)
    )
    assert bool(common_name(of.client(one))) == bool(common_name(one))


@given(ODD, ODD)
def test_expressions_of_one_meaning_stay_alike(one: str, other: str) -> None:
    """The audit finds spellings of one expression."""
    of = names()
    assert (plain_expression(of.expression(one)) == plain_expression(of.expression(other))) == (
        plain_expression(one) == plain_expression(other)
    )


@pytest.mark.parametrize(
    ("kind", "name", "pattern"),
    [
        ("group", "checkout", r"g-[b-z]{10}-[b-z]{4}"),
        ("topic", "orders", r"t-[b-z]{12}"),
        ("topic", "__consumer_offsets", "__consumer_offsets"),
        ("topic", "__my_topic", r"t-[b-z]{12}"),
        ("client", "consumer-checkout-3", r"c-[b-z]{12}:3"),
        ("client", "consumer-checkout_3", r"c-[b-z]{12}-0[b-z]{12}"),
        ("client", "consumer-checkout-30012", r"c-[b-z]{12}-0[b-z]{12}"),
        ("client", "4711", r"[0-9]{14}"),
        ("member", f"consumer-checkout-3-{UUID}", r"c-[b-z]{12}:3-[0-9a-f-]{36}"),
        ("member", UUID, r"[0-9a-f-]{36}"),
        ("member", "En5hlwC_RgyBrNg7ErgtQg", r"[b-z]{22}"),
        ("host", "/10.0.0.7", r"/h-[b-z]{12}"),
        ("host", "app-1/10.0.0.7", r"h-[b-z]{12}/h-[b-z]{12}"),
        ("host", "a/" * 16_000, r"h-[b-z]{12}/h-[b-z]{12}"),
        ("expression", "^" * 32_000 + "orders", r"x-[b-z]{12}"),
        ("expression", "^(?:orders.*)$", r"\^\(\?:x-[b-z]{12}\)\$"),
        ("assignor", "cooperative-sticky", "cooperative-sticky"),
        ("assignor", "our-cooperative", r"a-[b-z]{12}-cooperative"),
        ("url", "http://worker-1:8083/", r"http://h-[b-z]{12}:8083/"),
        ("url", "http://user:secret@worker-1:8083/", r"o-[b-z]{12}"),
        ("url", "http://worker-1:٨٠٨٣/", r"o-[b-z]{12}"),
        ("endpoint", "app-1.internal:9092", r"h-[b-z]{12}:9092"),
        ("word_or_number", "cleanup.policy", r"cleanup\.policy"),
        ("word_or_number", "17", "17"),
        ("word_or_number", "4711", r"o-[b-z]{12}"),
    ],
    ids=lambda value: value[:40],
)
def test_pseudonyms_keep_the_form(kind: str, name: str, pattern: str) -> None:
    """A letter for the kind, and what of the name is no name."""
    made = getattr(names(), kind)(name)
    assert re.fullmatch(pattern, made), made


def test_a_member_id_begins_with_the_pseudonym_of_its_client() -> None:
    """As it begins with the client id, or the instance id."""
    of = names()
    assert of.member(f"pod-7-{UUID}").startswith(of.client("pod-7") + "-")


def test_bytes_keep_their_length() -> None:
    """And nothing else; no id stays no id."""
    of = names()
    assert [len(of.data(b"x" * size)) for size in (0, 1, 5000)] == [0, 1, 5000]
    assert of.data(b"one") != of.data(b"two")
    assert of.topic_id(ZERO_TOPIC_ID) == ZERO_TOPIC_ID
    assert of.topic_id(b"1" * 16) != b"1" * 16


def test_what_stands_for_no_time_is_not_shifted() -> None:
    """0, -1, and the largest number."""
    of = Pseudonyms(b"a key of 16 byte", PARTITIONS, shifts_times=True)
    assert [of.moment(at_ms) for at_ms in (0, -1, 2**63 - 1)] == [0, -1, 2**63 - 1]
    assert of.moment(1_700_000_000_000) < 1_700_000_000_000
