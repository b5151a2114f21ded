"""The shorthand does what its docstring and its README say."""

import re
from pathlib import Path

import pytest

import tests.dsl
from rebalance_audit.wire.generated.messages import RecordType
from tests.dsl import log, records
from tests.dsl.partitions import TopicEntry, entries, spans

README = Path(__file__).with_name("README.md")
GRAMMAR = re.findall(r"^    (\d+t? \S.*?)(?:  .*)?$", tests.dsl.__doc__ or "", re.MULTILINE)


def test_the_readme_runs() -> None:
    """Its example is a test like any other."""
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(README), "exec"), {})  # noqa: S102 - our own page


@pytest.mark.parametrize("line", GRAMMAR)
def test_every_line_of_the_grammar_is_a_record(line: str) -> None:
    """The docstring shows nothing that the grammar does not take."""
    (record,) = records(line)
    assert (
        f"{int(record.record_type)}{'t' if record.value is None else ''}"
        == line.split(maxsplit=1)[0]
    )


def test_the_grammar_shows_every_record_of_consumer_groups() -> None:
    """And those that have no counterpart there."""
    shown = {int(line.split()[0].removesuffix("t")) for line in GRAMMAR}
    assert shown >= {2, *range(3, 9), 16}
    assert {RecordType(number) for number in shown} <= set(RecordType)


def test_a_write_has_one_time_and_a_run_of_offsets() -> None:
    """A hole in the offsets ends it."""
    positions = [position for _, position in log((1_000, "5 A; 3 1"), (1_400, "6 1"))]
    assert [(each.log_offset, each.record_timestamp_ms) for each in positions] == [
        (0, 1_000),
        (1, 1_000),
        (3, 1_400),
    ]


@pytest.mark.parametrize(
    ("text", "epoch", "expected"),
    [
        ("-", None, []),
        ("0-2,5", None, [("foo", (0, 1, 2, 5), ())]),
        ("0+bar:1", 4, [("foo", (0,), (4,)), ("bar", (1,), (4,))]),
        ("0-1@2,3@5", 4, [("foo", (0, 1, 3), (2, 2, 5))]),
        ("0-1@-", 4, [("foo", (0, 1), ())]),
    ],
)
def test_partitions(text: str, epoch: int | None, expected: list[TopicEntry]) -> None:
    """Ranges, topics and assignment epochs."""
    assert entries(text, epoch) == expected


def test_runs_of_numbers() -> None:
    """What follows without a hole is one range."""
    assert list(spans([5, 0, 2, 1, 7])) == ["0-2", "5", "7"]
