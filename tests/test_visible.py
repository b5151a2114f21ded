"""Text from outside as people see it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.visible import NAME_MAX, shortened, visible


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("orders-ünïcode-注文-🙂", "orders-ünïcode-注文-🙂"),
        ("two\nlines\r\ttab", r"two\nlines\r\ttab"),
        ("\x1b[31mred\x7f\x9b0m", r"\x1b[31mred\x7f\x9b0m"),
        ("bidi\u202etxt\u2069", r"bidi\u202etxt\u2069"),
        ("a\u200bb\ufeff\u2028\u00ad", r"a\u200bb\ufeff\u2028\xad"),
        ("blank\u3164\u2800\ufe0f", r"blank\u3164\u2800\ufe0f"),
        ("\ud800\ue000\U000e0041", r"\ud800\ue000\U000e0041"),
        ("e\u0301te\u0301", "e\u0301te\u0301"),
        ("\u0301a \u0301b", r"\u0301a \u0301b"),
        ("z" + "\u0300" * 6, "z" + "\u0300" * 4 + r"\u0300\u0300"),
    ],
)
def test_what_is_invisible_or_a_terminal_obeys_is_an_escape(name: str, shown: str) -> None:
    """Ids may be any text; what is visible stays as it is, accents of other scripts included."""
    assert visible(name) == shown


@given(st.text(st.characters(), max_size=30))
def test_nothing_invisible_is_left(text: str) -> None:
    """And what was made visible once stays the same."""
    shown = visible(text)
    assert shown.isprintable()
    assert not {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} & set(map(unicodedata.category, shown))
    assert visible(shown) == shown


def test_long_names_keep_their_ends_and_stay_distinguishable() -> None:
    """Even those that differ only in the middle that is cut out."""
    first, second = ("a" * 800 + middle + "z" * 800 for middle in "12")
    assert shortened("a" * NAME_MAX) == "a" * NAME_MAX
    assert len(shortened(first)) == len(shortened(second)) == NAME_MAX
    assert shortened(first) != shortened(second)
    assert shortened(first).startswith("a" * 200)
    assert shortened(first).endswith("…" + "z" * 24)
    assert len(shortened("\ud800" * 500, 48)) == 48
