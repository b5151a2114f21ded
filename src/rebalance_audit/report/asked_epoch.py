"""Which epoch of a group a question is about."""

from rebalance_audit.errors import BadRequest
from rebalance_audit.figures.rows import TableRow, Tables
from rebalance_audit.report.explanation import epoch_at
from rebalance_audit.sentences import words


def epoch_of_moment(own: Tables, at_ms: int) -> TableRow:
    """The epoch of a moment in epoch milliseconds; `own` has one group's rows. Raises BadRequest before the first."""
    epoch = epoch_at(own, at_ms)
    if epoch is None:
        began = words.moment(min(row["started_at"] or row["converged_at"] for row in own["epochs"]))
        raise BadRequest(f"the log's first epoch of this group began at {began} UTC.")
    return epoch


def epoch_of_number(own: Tables, number: int, incarnation: int | None = None) -> TableRow:
    """The epoch or generation of that number, of the last incarnation that has one unless given.

    Raises BadRequest where there is none.
    """
    epochs = [row for row in own["epochs"] if incarnation in (None, row["incarnation"])]
    if not epochs:
        last = max(row["incarnation"] for row in own["epochs"])
        raise BadRequest(f"no incarnation {incarnation}; the last of this group is {last}.")
    found = [row for row in epochs if row["epoch"] == number]
    if not found:
        numbers = sorted({row["epoch"] for row in epochs})
        raise BadRequest(
            f"no epoch {number}; this group has {len(numbers)}, from {numbers[0]} to {numbers[-1]}."
        )
    return max(found, key=lambda row: row["incarnation"])
