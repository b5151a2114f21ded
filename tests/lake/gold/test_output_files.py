"""Rows of the reducer that a task writes into files of their tables itself."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from rebalance_audit.audit.rows import EPOCHS, GROUP_STATES
from rebalance_audit.lake.gold import output_files
from rebalance_audit.lake.gold.group_hours import facts_of_packed
from rebalance_audit.lake.gold.hour_codes import HOUR_MS
from rebalance_audit.lake.gold.hour_facts import LOOKED_AT, FactsOf
from rebalance_audit.lake.gold.hour_rows import hours_made_of
from rebalance_audit.lake.gold.output_files import OutputFiles
from rebalance_audit.lake.gold.output_rows import FILES, REBUILT, OutputRows
from rebalance_audit.lake.gold.outputs import OUTPUTS, SNAPSHOTS
from rebalance_audit.lake.gold.packed_rows import PACKED
from rebalance_audit.lake.gold.reducer import ReducerOptions, reduced
from rebalance_audit.lake.gold.task_facts import HELD_ROWS, HOUR_FACTS
from rebalance_audit.lake.storage.data_files import DataFiles
from rebalance_audit.tables.schemas import table_schemas
from tests.support.stream_rows import unpacked_stream

STARTED_AT = datetime(2026, 11, 21, 9, tzinfo=UTC)
CONSTANTS = {"cluster": "blue", "rules": "r", "run_id": "id", "updated_at": STARTED_AT}


def tables(folder: Path, *outputs: str) -> dict[str, DataFiles]:
    """A folder for each output, whose columns may all be null."""
    found = {}
    for output in outputs:
        (folder / output).mkdir()
        columns = {
            column.name: (column.type, True) for column in table_schemas()[OUTPUTS[output]].columns
        }
        found[output] = DataFiles(str(folder / output), columns, ("group_id",), "zstd")
    return found


def rows_in(folder: Path) -> list[list[dict[str, Any]]]:
    """Of each file, without columns that are null."""
    return [
        [
            {name: cell for name, cell in row.items() if cell is not None}
            for row in pq.read_table(file).to_pylist()
        ]
        for file in folder.iterdir()
    ]


def streamed(batches: Iterable[pa.RecordBatch]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table in the stream, and what it tells of files."""
    found: dict[str, list[dict[str, Any]]] = {FILES: []}
    for batch in batches:
        found[FILES] += batch[FILES].drop_null().to_pylist()
        for table, _, rows in unpacked_stream([batch]):
            found.setdefault(table, []).extend(rows.to_pylist())
    return found


@pytest.mark.parametrize("facts_of", [None, FactsOf(None)])
def test_rows_go_into_files_of_their_table(facts_of: FactsOf | None, tmp_path: Path) -> None:
    """Stays that have ended lie apart from those that go on; what the run adds to a row is in the file."""
    files = OutputFiles(tables(tmp_path, "ownership", SNAPSHOTS), CONSTANTS, facts_of)
    rows = OutputRows(files)
    rows.add("ownership", REBUILT, {"group_id": "a", "to_offset": 7})
    rows.add("ownership", REBUILT, {"group_id": "b"})
    rows.add(SNAPSHOTS, REBUILT, {"group_id": "a", "state": "{}"})
    rows.add("members", REBUILT, {"group_id": "a"})
    found = streamed(rows.close())
    ended = {"cluster": "blue", "group_id": "a", "to_offset": 7}
    assert sorted(rows_in(tmp_path / "ownership"), key=str) == [
        [ended],
        [{"cluster": "blue", "group_id": "b"}],
    ]
    assert rows_in(tmp_path / SNAPSHOTS) == [[{**CONSTANTS, "group_id": "a", "state": "{}"}]]
    told = [(row["output"], row["rows"], json.loads(row["line"])) for row in found.pop(FILES)]
    assert sorted((output, count) for output, count, _ in told) == [
        ("ownership", 1),
        ("ownership", 1),
        (SNAPSHOTS, 1),
    ]
    assert all((tmp_path / output / line["add"]["path"]).exists() for output, _, line in told)
    kept = {"members"} if facts_of else {"ownership", SNAPSHOTS, "members"}
    assert set(found) == kept


def test_hours_come_of_rows_that_are_in_files_alone(tmp_path: Path) -> None:
    """As of rows in the stream: a task tells what the rows say of hours, be they one or thousands."""
    state = {"group_id": "a", "incarnation": 1, "protocol": "consumer", "from_at": 0, "members": 2}
    epoch = {"group_id": "a", "protocol": "consumer", "primary_cause": "member_joined"}
    made = []
    for facts_of in (None, FactsOf(5 * HOUR_MS)):
        rows = OutputRows(OutputFiles(tables(tmp_path, EPOCHS), CONSTANTS, facts_of))
        rows.add(GROUP_STATES, REBUILT, state)
        for number in range(HELD_ROWS + 10):
            rows.add(EPOCHS, REBUILT, {**epoch, "started_at": number % 4 * HOUR_MS})
        batches = [*rows.take_full(), *rows.close()]
        (tmp_path / EPOCHS).rename(tmp_path / str(facts_of))
        stream = pa.Table.from_batches(batches).select(["table", PACKED])
        of_hours = stream.filter(pc.is_in(stream["table"], pa.array([*LOOKED_AT, HOUR_FACTS])))
        facts = facts_of_packed(of_hours.to_batches(), 5 * HOUR_MS)
        made.append(hours_made_of(pa.concat_tables(facts), has_commits=False, of_wanted=False))
    assert made[0].to_pylist() == made[1].to_pylist()
    assert sum(made[0]["epochs"].to_pylist()) == HELD_ROWS + 10


def test_a_task_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another attempt writes its own."""
    monkeypatch.setattr(output_files, "ROW_GROUP_BYTES", 1)
    files = OutputFiles(tables(tmp_path, "epochs", SNAPSHOTS), CONSTANTS, FactsOf(None))

    def broken() -> Iterable[pa.RecordBatch]:
        yield from ()
        raise OSError("the shuffle is gone")

    rows = OutputRows(files)
    rows.add("epochs", REBUILT, {"group_id": "a"})
    assert list(rows.take_rest()) == []
    assert any((tmp_path / "epochs").iterdir())
    rows.discard()
    with pytest.raises(OSError, match="the shuffle is gone"):
        list(reduced(broken(), ReducerOptions(files=files)))
    assert rows_in(tmp_path / "epochs") == rows_in(tmp_path / SNAPSHOTS) == []
