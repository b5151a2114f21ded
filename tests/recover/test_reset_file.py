"""Files for `--reset-offsets --from-file`, read back by the rules of Kafka's parser."""

import csv
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.recover.reset_file import (
    GROUPS_OF_FILE_MAX,
    OffsetRow,
    ResetFile,
    Unsaid,
    reset_files,
    unsaid,
)

TOPICS = st.text("abz09._-", min_size=1, max_size=249).filter(lambda name: name not in {".", ".."})
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
GROUPS = TEXT | st.text("a,\"\n\r '#\\|;", min_size=1)
ROWS = st.builds(OffsetRow, GROUPS, TOPICS, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))


def as_the_tool_reads(file: ResetFile) -> Iterator[OffsetRow]:
    """Each line by itself, split at line feeds alone; without a group's column where there is one `--group`."""
    lines = file.text.split("\n")
    assert lines.pop() == "", "Java's split drops the empty end"
    for line in lines:
        (fields,) = csv.reader([line], strict=True)
        group_id = [] if len(file.group_ids) > 1 else [file.group_ids[0]]
        name, topic, number, committed = [*group_id, *fields]
        yield OffsetRow(name, topic, int(number), int(committed))


@given(st.lists(ROWS))
def test_every_row_is_read_as_it_was(rows: list[OffsetRow]) -> None:
    """Whatever a group is called; rows come in order of their groups, as a plan has them."""
    sayable = sorted(row for row in rows if unsaid(row) is None)
    read = [row for file in reset_files(sayable) for row in as_the_tool_reads(file)]
    assert sorted(read) == sayable


@pytest.mark.parametrize(
    ("group_ids", "expected"),
    [
        (["a"], ['"t",0,5\n']),
        (["a", "b"], ['"a","t",0,5\n"b","t",0,5\n']),
        (['a,"b"', "c"], ['"a,""b""","t",0,5\n"c","t",0,5\n']),
        (["a", "b\nc", "d"], ['"a","t",0,5\n"d","t",0,5\n', '"t",0,5\n']),
        (["#a", " b "], ['"#a","t",0,5\n" b ","t",0,5\n']),
    ],
)
def test_one_group_has_no_column(group_ids: list[str], expected: list[str]) -> None:
    """A line feed cannot stand in a file: such a group has one of its own, which does not name it."""
    rows = [OffsetRow(group_id, "t", 0, 5) for group_id in group_ids]
    assert [file.text for file in reset_files(rows)] == expected


def test_a_file_has_as_many_groups_as_a_command_line_takes() -> None:
    """By their number, and by the bytes of their names."""
    many = [OffsetRow(f"{place:03}", "t", 0, 5) for place in range(2 * GROUPS_OF_FILE_MAX + 1)]
    assert [len(file.group_ids) for file in reset_files(many)] == [100, 100, 1]
    long = [OffsetRow(letter * 32_767, "t", 0, 5) for letter in "abc"]
    assert [len(file.group_ids) for file in reset_files(long)] == [2, 1]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("g", "t", 0, 0), None),
        (("g", "__consumer_offsets", 49, 2**63 - 1), None),
        (("a\nb", "t", 0, 5), None),
        (("", "t", 0, 5), Unsaid.EMPTY_GROUP_ID),
        (("a\0b", "t", 0, 5), Unsaid.NUL_IN_GROUP_ID),
        (("g", "t,0", 0, 5), Unsaid.NO_SUCH_TOPIC),
        (("g", "t\n", 0, 5), Unsaid.NO_SUCH_TOPIC),
        (("g", "..", 0, 5), Unsaid.NO_SUCH_TOPIC),
        (("g", "", 0, 5), Unsaid.NO_SUCH_TOPIC),
        (("g", "t" * 250, 0, 5), Unsaid.NO_SUCH_TOPIC),
        (("g", "...", 0, 5), None),
        (("g", "t", -1, 5), Unsaid.NO_SUCH_TOPIC),
        (("g", "t", 0, -1), Unsaid.NEGATIVE_OFFSET),
    ],
)
def test_what_the_tool_cannot_set(row: tuple[str, str, int, int], expected: Unsaid | None) -> None:
    """One such line would make it refuse the whole file."""
    assert unsaid(OffsetRow(*row)) == expected
