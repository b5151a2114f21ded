"""Rows of gold.what_if: what the table's schema and its checks ask of them."""

from dataclasses import replace

from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.whatif.answer import evaluate
from rebalance_audit.whatif.answer_forms import answer_table_rows, refused_row
from rebalance_audit.whatif.script import Logged, LoggedDelay
from rebalance_audit.whatif.variant import variants_of
from tests.whatif.test_answer import DEPLOY
from tests.whatif.test_facts import EAGER

SCHEMA = table_schemas()["gold.what_if"]
WHOLE = replace(
    DEPLOY,
    logged=Logged(8, 48, 0, 100_000, None, LoggedDelay(41, 30, None)),
    rates={"orders": [1.0] * 12},
    facts=EAGER,
)


def test_an_answer_fills_every_column() -> None:
    """Each in some row, no other column, each key once."""
    rows = [*answer_table_rows(evaluate(WHOLE, variants_of(WHOLE), seeds=2, ranked=True))]
    rows.append(refused_row("manual", "Nothing rebalances.", None, None))
    filled = {name for row in rows for name, value in row.items() if value is not None}
    columns = {*SCHEMA.column_names} - {"cluster", "records_delayed_unknown"}
    assert filled == columns
    keys = [tuple(row[name] for name in SCHEMA.key if name != "cluster") for row in rows]
    assert len({*keys}) == len(keys)
    ranks = [row["rank"] for row in rows if row["scenario"] == "predicted"]
    assert ranks == [*range(1, len(ranks) + 1)]


def test_what_the_log_shows_has_bounds_and_no_runs() -> None:
    """Medians and ranges belong to simulations."""
    logged, control, *_ = answer_table_rows(evaluate(WHOLE, [], seeds=2))
    assert logged["scenario"] == "as_logged"
    assert logged["unowned_partition_ms"] is None
    bounds = logged["unowned_partition_low_ms"], logged["unowned_partition_high_ms"]
    assert bounds == (0, 100_000)
    assert (logged["records_delayed"], logged["records_delayed_low"]) == (41, 30)
    assert "runs" not in logged
    assert control["runs"] == 2
    assert control["records_delayed_low"] <= control["records_delayed"]
    assert control["refused"] is None


def test_a_control_that_misses_the_log_leaves_its_reason() -> None:
    """In both rows, and there is no prediction."""
    missed = replace(WHOLE, logged=Logged(80, 480, None, None))
    rows = [*answer_table_rows(evaluate(missed, variants_of(missed), seeds=1))]
    assert [row["scenario"] for row in rows] == ["as_logged", "control"]
    assert all("where the log has 80" in row["refused"] for row in rows)
    assert rows[0]["unowned_partition_high_ms"] is None
