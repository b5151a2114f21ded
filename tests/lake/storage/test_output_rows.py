"""Rows of several tables in one stream of Arrow batches."""

from collections import Counter

from rebalance_audit.lake.gold.outputs import (
    BATCH_ROWS,
    FRAME_ROW_BYTES,
    GONE,
    NEW,
    QUARANTINE,
    REBUILT,
    OutputRows,
    output_columns,
)
from tests.support.stream_rows import unpacked_stream


def test_a_table_is_handed_over_when_it_has_a_batch_and_the_others_at_the_end() -> None:
    """Every row comes out once, with its table and mark, and in the order in which it came."""
    rows, seen, sizes = OutputRows({}), Counter[tuple[str, str]](), []
    for number in range(2 * BATCH_ROWS + 10):
        rows.add("epochs", REBUILT, dict.fromkeys(output_columns()["epochs"]) | {"epoch": number})
        if number % 100 == 0:
            rows.add(
                "members", NEW, dict.fromkeys(output_columns()["members"]) | {"stints": number}
            )
        assert rows.full() is (number % BATCH_ROWS == BATCH_ROWS - 1)
        if rows.full():
            sizes += [(each.table, len(each.rows)) for each in unpacked_stream(rows.take_full())]
    assert sizes == [("epochs", BATCH_ROWS)] * 2
    for table, mark, batch in unpacked_stream(rows.take_rest()):
        seen[table, mark] += len(batch)
        if table == "epochs":
            first = 2 * BATCH_ROWS
            assert batch["epoch"].to_pylist() == [*range(first, first + 10)]
    assert seen == {("epochs", REBUILT): 10, ("members", NEW): -(-(2 * BATCH_ROWS + 10) // 100)}
    assert list(rows.take_rest()) == []


def test_what_one_record_calls_forth_may_be_more_than_a_batch() -> None:
    """A group of thousands of members gives thousands of rows at once: all of them leave."""
    rows = OutputRows({})
    for _ in range(3 * BATCH_ROWS):
        rows.add("convergence", REBUILT, dict.fromkeys(output_columns()["convergence"]))
    assert [len(each.rows) for each in unpacked_stream(rows.take_full())] == [BATCH_ROWS] * 3


def test_columns_that_a_row_lacks_are_null() -> None:
    """A key to delete has no more than its key; a record in quarantine has no stretch of a file."""
    rows = OutputRows({})
    rows.add("epochs", GONE, {"group_id": "g", "incarnation": 0, "epoch": 4})
    rows.add(QUARANTINE, NEW, {"partition": 1, "offset": 2, "timestamp": 3, "raw": b"x"})
    gone, quarantined = unpacked_stream(rows.take_rest())
    (row,) = gone.rows.to_pylist()
    assert {name: cell for name, cell in row.items() if cell is not None} == {
        "group_id": "g",
        "incarnation": 0,
        "epoch": 4,
    }
    (row,) = quarantined.rows.to_pylist()
    assert (row["raw"], row["reason"]) == (b"x", None)


def test_what_is_the_same_in_all_rows_is_in_each_table_that_has_it() -> None:
    """The cluster in all of them, the run in snapshots alone."""
    rows = OutputRows({"cluster": "blue", "run_id": "run"})
    rows.add("epochs", NEW, {"group_id": "g"})
    rows.add("snapshots", NEW, {"group_id": "g"})
    found = {each.table: each.rows.to_pylist()[0] for each in unpacked_stream(rows.take_rest())}
    assert {name: row["cluster"] for name, row in found.items()} == dict.fromkeys(found, "blue")
    assert found["snapshots"]["run_id"] == "run"


def test_rows_of_large_values_are_spread_over_rows_of_the_frame() -> None:
    """Spark copies a row of the frame as a whole: the large rows leave one by one, all in their order."""
    rows, large = OutputRows({}), range(500, 508)
    for number in range(BATCH_ROWS):
        raw = bytes(FRAME_ROW_BYTES if number in large else 10)
        rows.add(QUARANTINE, NEW, {"partition": 0, "offset": number, "raw": raw})
    (batch,) = rows.take_full()
    lists = [batch[QUARANTINE][at].values for at in range(len(batch))]
    assert [row["offset"].as_py() for each in lists for row in each] == [*range(BATCH_ROWS)]
    assert all(len(each) == 1 or each.nbytes <= FRAME_ROW_BYTES for each in lists)
    assert [each[0]["offset"].as_py() for each in lists if each.nbytes > FRAME_ROW_BYTES] == [
        *large
    ]
    assert batch["rows"].to_pylist() == [*map(len, lists)]
