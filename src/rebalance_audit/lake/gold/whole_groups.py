"""Batches in which each group's rows follow each other, as tables of whole groups."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc


def whole_groups(
    batches: Iterable[pa.RecordBatch],
    pressed: Callable[[pa.Table], pa.Table] | None = None,
    held_max: int = 0,
) -> Iterator[pa.Table]:
    """Tables, each with all rows of its groups. One group is in memory, and one batch.

    `pressed` makes fewer rows of those that are held of one group when they are more than `held_max`.
    """
    held: list[pa.RecordBatch | pa.Table] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        last = batch["group_id"][-1]
        of_last = pc.sum(pc.equal(batch["group_id"], last)).as_py()
        done = batch.num_rows - of_last
        if held and (done or held[-1]["group_id"][-1] != last):
            # The rows before those of the last group complete what is held.
            yield _together([*held, batch.slice(0, done)])
            held = []
        elif done:
            yield _together([batch.slice(0, done)])
        held.append(batch.slice(done))
        if pressed is not None and len(held) > 1 and _rows(held) > held_max:
            held = [pressed(_together(held))]
    if held:
        yield _together(held)


def _together(parts: list[pa.RecordBatch | pa.Table]) -> pa.Table:
    return pa.concat_tables(
        part if isinstance(part, pa.Table) else pa.Table.from_batches([part]) for part in parts
    )


def _rows(parts: list[pa.RecordBatch | pa.Table]) -> int:
    return sum(part.num_rows for part in parts)
