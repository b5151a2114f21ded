"""Rows of several tables in one stream of Arrow batches."""

from collections import Counter

from rebalance_audit.lake.gold.output_rows import BATCH_ROWS, GONE, NEW, REBUILT, OutputRows
from rebalance_audit.lake.gold.outputs import QUARANTINE, columns_of


def test_a_table_is_handed_over_when_it_has_a_batch_and_the_others_at_the_end() -> None:
    """Every row comes out once, in its table's column, with its mark, and in the order in which it came."""
    rows, seen, sizes = OutputRows(), Counter[tuple[str, str]](), []
    for number in range(2 * BATCH_ROWS + 10):
        rows.add("epochs", REBUILT, dict.fromkeys(columns_of("epochs")) | {"epoch": number})
        if number % 100 == 0:
            rows.add("members", NEW, dict.fromkeys(columns_of("members")) | {"stints": number})
        assert rows.full() is (number % BATCH_ROWS == BATCH_ROWS - 1)
        if rows.full():
            sizes += [(batch.column("table")[0].as_py(), len(batch)) for batch in rows.take_full()]
    assert sizes == [("epochs", BATCH_ROWS)] * 2
    for batch in rows.take_rest():
        (table,), (mark,) = (
            set(batch.column("table").to_pylist()),
            set(batch.column("mark").to_pylist()),
        )
        seen[table, mark] += len(batch)
        others = [name for name in batch.schema.names[2:] if name != table]
        assert all(batch.column(name).null_count == len(batch) for name in others)
        if table == "epochs":
            first = 2 * BATCH_ROWS
            assert [row["epoch"] for row in batch.column(table).to_pylist()] == [
                *range(first, first + 10)
            ]
    assert seen == {("epochs", REBUILT): 10, ("members", NEW): -(-(2 * BATCH_ROWS + 10) // 100)}
    assert list(rows.take_rest()) == []


def test_what_one_record_calls_forth_may_be_more_than_a_batch() -> None:
    """A group of thousands of members gives thousands of rows at once: they are one batch."""
    rows = OutputRows()
    for _ in range(3 * BATCH_ROWS):
        rows.add("convergence", REBUILT, dict.fromkeys(columns_of("convergence")))
    (batch,) = rows.take_full()
    assert len(batch) == 3 * BATCH_ROWS
    assert batch.column("epochs").null_count == 3 * BATCH_ROWS


def test_columns_that_a_row_lacks_are_null() -> None:
    """A key that is to go has no more than its key; a record in quarantine has no stretch of a file."""
    rows = OutputRows()
    rows.add("epochs", GONE, {"group_id": "g", "incarnation": 0, "epoch": 4})
    rows.add(QUARANTINE, NEW, {"partition": 1, "offset": 2, "timestamp": 3, "raw": b"x"})
    gone, quarantined = rows.take_rest()
    (row,) = gone.column("epochs").to_pylist()
    assert {name: cell for name, cell in row.items() if cell is not None} == {
        "group_id": "g",
        "incarnation": 0,
        "epoch": 4,
    }
    (row,) = quarantined.column(QUARANTINE).to_pylist()
    assert (row["raw"], row["reason"]) == (b"x", None)
