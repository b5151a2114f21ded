"""What a table's log has as the minimum and maximum of texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.lake.storage.data_files import (
    STATS_PREFIX,
    greatest_of_text,
    least_of_text,
)
from tests.support.long_ids import IDS, LAST


@given(st.text(max_size=80) | st.text("a\0ü\U0001f600" + LAST, max_size=80))
def test_a_text_lies_between_its_bounds(text: str) -> None:
    """By the bytes of UTF-8, which readers compare; both are short unless the text begins with what sorts last."""
    least, most = least_of_text(text), greatest_of_text(text)
    assert least.encode() <= text.encode() <= most.encode()
    assert len(least) <= STATS_PREFIX
    assert len(most) <= STATS_PREFIX + 1 or text.startswith(LAST * STATS_PREFIX)


@pytest.mark.parametrize("text", IDS.values(), ids=IDS)
def test_short_texts_are_their_own_bounds(text: str) -> None:
    """A file of one cluster is known to have no other."""
    is_whole = len(text) <= STATS_PREFIX
    assert (least_of_text(text) == greatest_of_text(text) == text) == is_whole
