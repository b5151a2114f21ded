"""Words of a private dialect that this project once had must not come back, in code or in what people read."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from rebalance_audit.resources import checkout_root

ROOT: Final = checkout_root()

WORDS: Final = {
    r"tell|tells|told|telling|untold": "report, show, print, know",
    r"nobody|nobodys": "no member, no owner, unknown",
    r"grave|graver|gravest": "severe, most severe",
    r"unforeseen": "unexpected",
    r"is to|are to|was to|were to": "must, will",
    r"such that": "so that",
    r"(?<!\d )of which": "that … of, with",
    r"knows? .{1,40} no more": "no longer",
    r"in sum": "in total",
    r"gave way|give way|make way": "stopped, superseded",
    r"side by side": "in parallel, beside each other",
    r"is not made up|are not made up": "is never guessed",
    r"made anew|written anew|read anew": "recreated, rewritten, read again",
    r"nothing (?:tells|bounds|is told|to tell|of it began)": "unknown, no upper bound",
    r"behind (?:its value|what it|the first epoch|the last)": "after",
    r"news of|with news|is news": "update, change",
    r"to part two": "to separate",
    r"note oddity|walk pays|gravest first|one look|group news|not told": "the names of today",
    r"not what it should be": "missing or corrupt",
    r"there nobody need": "not necessary",
    r"did not take a finding": "refused the connection",
    r"lies? in no": "is not in a",
    r"gone then|went nowhere": "lost, not accounted for",
}
"""Words and phrases -> what to write instead. Names count as words: `told_at` and `ToldFile` have `told`."""

PHRASE: Final = re.compile(
    "|".join(rf"(?P<w{at}>\b(?:{words})\b)" for at, words in enumerate(WORDS)), re.IGNORECASE
)

OF_OTHERS: Final = {
    "src/rebalance_audit/audit/broker_log/wordings": "texts of Kafka's brokers",
    "src/rebalance_audit/sim/brokers/server_log_classic.py": "texts of Kafka's brokers",
    "docs/broker-logs.md": "texts of Kafka's brokers",
    "tests/deploy/schemas": "schemas of other projects",
    "tests/test_english.py": "the words themselves",
}
"""Beginning of a path -> why the words of its files are not ours."""

FOLDERS: Final = (
    "src",
    "docs",
    "airflow_dags",
    "jobs",
    "workshop",
    "tests",
    "schemas",
    "conf",
    "dashboards",
)
SUFFIXES: Final = {".py", ".md", ".json", ".toml", ".sql", ".yaml", ".yml", ".conf", ".html", ".js"}


def files() -> Iterator[Path]:
    """Texts of the project, those that are read and those that others wrote aside."""
    yield ROOT / "README.md"
    yield ROOT / "SECURITY.md"
    yield ROOT / "Makefile"
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in SUFFIXES and not name.startswith(tuple(OF_OTHERS)):
                yield path


def words_of(text: str) -> str:
    """The text with the parts of names as words, without `tell` of Python's files; code keeps its lines."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", re.sub(r"(?:\.|def )tell\(", "", text))
    return re.sub(r"_+", " ", spaced)


def found(text: str) -> list[str]:
    """Each word that must not be there, with its line and what to write instead."""
    return [
        f"{number}: {match[0]}: {list(WORDS.values())[int(str(match.lastgroup)[1:])]}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in PHRASE.finditer(words_of(line))
    ]


def test_the_words_stay_away() -> None:
    """In names, docstrings, comments, messages and pages."""
    wrong = [
        f"{path.relative_to(ROOT)}:{each}"
        for path in files()
        for each in found(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        "    told = owners_of(rows)",
        "class ToldFile:",
        "def nobody_counted() -> None:",
        '    """The partitions that nobody owned."""',
        "A member that is to give up partitions.",
        "Only findings as grave as this.",
    ],
)
def test_a_word_is_found(line: str) -> None:
    """In a name, in a sentence, in both spellings of names."""
    assert found(line)


@pytest.mark.parametrize("line", ["    retold_stories = 1", "A total of 7 rows; what it stores."])
def test_parts_of_other_words_are_not(line: str) -> None:
    """Words are whole words."""
    assert not found(line)
