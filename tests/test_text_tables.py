"""Tables that are written as text in the source."""

import pytest

from rebalance_audit.text_tables import text_rows, texts_of


def test_rows_go_on_in_indented_lines() -> None:
    """Lines that are indented less are rows of their own."""
    assert text_rows("\nlogger\n    3.6- info Member\n        {member_id} left\n") == [
        "logger",
        "    3.6- info Member {member_id} left",
    ]


def test_texts_by_code() -> None:
    """A comment is none of them; all after the first space is the text."""
    table = """
# members
joined: Member {member}
        joined: at last.
named:  named {name}
"""
    assert texts_of(table) == {
        "joined": "Member {member} joined: at last.",
        "named": " named {name}",
    }


@pytest.mark.parametrize("table", ["joined", "joined: once\njoined: twice"])
def test_a_row_without_a_text_of_its_own(table: str) -> None:
    """It is a slip in the source."""
    with pytest.raises(ValueError, match="no text, or the second one of its code: joined"):
        texts_of(table)
