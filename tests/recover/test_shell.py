"""Words for bash."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.recover.steps import shell_word
from rebalance_audit.visible import visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("checkout", "checkout"),
        ("", "''"),
        ("a b", "'a b'"),
        ("$(reboot)", "'$(reboot)'"),
        ("grün", "'grün'"),
        ("a\nb'c\\", r"$'a\x0ab\'c\\'"),
        ("\x1b5", r"$'\x1b5'"),
        ("\u202ea", r"$'\u202ea'"),
    ],
)
def test_words(text: str, expected: str) -> None:
    """Escaped where a terminal would obey it or not show it."""
    assert shell_word(text) == expected


@settings(max_examples=10)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=20
    )
)
def test_bash_reads_what_was_written(texts: list[str]) -> None:
    """Every word is one argument, with every character of it."""
    words = [shell_word(text) for text in texts]
    assert all(visible(word) == word for word in words)
    script = f"printf '%s\\0' {' '.join(words)}" if words else "true"
    done = subprocess.run(
        ["bash", "-c", script], env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=True
    )
    assert done.stdout.decode().split("\0")[:-1] == texts
