"""Texts at the widths of terminals, and in files."""

from pathlib import Path

import pytest
from rich.table import Table

from rebalance_audit.demo_log import extract_to
from rebalance_audit.report.terminal import layout
from tests.cli.audited import audited_once
from tests.cli.call import call, segments

CAPTURES = ("classic-static", "consumer-static")
ENDLESS = 5000
LONG = 36
"""Longer words, as member ids, have no room beside others at 80 columns."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The demo's log and those of captures."""
    demo = extract_to(tmp_path_factory.mktemp("demo"))
    return {"demo": demo} | {name: segments(name) for name in CAPTURES}


def printed(log: Path, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything that `inspect` and `explain` say of a log."""
    monkeypatch.setenv("COLUMNS", str(columns))
    tables = audited_once(log).tables
    groups = sorted({row["group_id"] for row in tables["epochs"]})[:3]
    outputs = [call("inspect", log, "--all"), call("explain", log, groups[0])]
    outputs += [call("inspect", log, "--group", group_id) for group_id in groups]
    assert all(output.code == 0 for output in outputs)
    return "\n".join(output.out for output in outputs)


@pytest.mark.usefixtures("shared_audits")
@pytest.mark.parametrize("name", ["demo", *CAPTURES])
def test_nothing_is_broken_inside_a_word(
    name: str, logs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands between blanks at 80, 100 and 140 columns does so where there is room for all, in either layout."""
    whole = set(printed(logs[name], ENDLESS, monkeypatch).split())
    with monkeypatch.context() as no_room:
        no_room.setattr(layout, "natural_width", lambda _, **__: ENDLESS + 1)
        whole |= set(printed(logs[name], ENDLESS, monkeypatch).split())
    for columns in (80, 100, 140):
        text = printed(logs[name], columns, monkeypatch)
        assert max(map(len, text.splitlines())) <= columns
        pieces = {word for word in text.split() if word not in whole and set(word) != {"─"}}
        long = " ".join(word for word in whole if len(word) > LONG)
        assert not {piece for piece in pieces if piece not in long}, columns


@pytest.mark.usefixtures("shared_audits")
def test_a_file_has_tables_as_wide_as_their_cells(
    logs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of a table is a line there, and paragraphs are no longer than they are comfortable to read."""
    monkeypatch.delenv("COLUMNS", raising=False)
    out = call("inspect", logs["demo"], "--all").out
    table = out.partition("\nRebalances")[2].splitlines()[3:]
    rows = [line for line in table if line[:2].isdigit()]
    assert len(rows) == len(audited_once(logs["demo"]).tables["rebalances"])
    prose = out.partition("\nGroups")[0].splitlines()
    assert max(map(len, prose)) <= layout.TEXT_WIDTH


def test_a_column_is_as_wide_as_its_longest_word() -> None:
    """Where the words of all columns fit; else the widest columns shrink first, and none vanishes."""
    table = Table("Name", "Story")
    table.add_row("a-name-of-21-characters", "once upon a time " * 5)
    layout.fit(table, 60)
    assert table.columns[0].width == len("a-name-of-21-characters")
    layout.fit(table, 20)
    widths = [column.width or 0 for column in table.columns]
    assert min(widths) >= len("Story")
    assert sum(widths) + 3 <= 20
