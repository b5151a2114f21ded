"""What others need to know of rows that a task writes into files, so that they need not read these files again.

Facts of hours, of which gold.group_hours is made, and topics that have no name yet.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.audit.rows import OWNERSHIP
from rebalance_audit.lake.gold.hour_facts import LOOKED_AT, FactsOf

HOUR_FACTS: Final = "hour_facts"
"""See `hour_facts`."""
UNNAMED_TOPICS: Final = "unnamed_topics"
"""With a column `topic_id`, each once for a task."""
HELD_ROWS: Final = 32_768
"""Rows of one output that are held before facts are made of them: making facts of a thousand takes as long."""


class TaskFacts:
    """Those of one task, under one of the names above."""

    def __init__(self, facts_of: FactsOf) -> None:
        """Nothing is held yet."""
        self._facts_of = facts_of
        self._held: dict[str, list[pa.RecordBatch]] = {output: [] for output in LOOKED_AT}
        self._unnamed: set[str] = set()

    def add(self, output: str, rows: pa.RecordBatch) -> None:
        """Look at rows; those of other outputs say nothing."""
        if output in LOOKED_AT:
            self._held[output].append(rows.select(LOOKED_AT[output]))
        if output == OWNERSHIP:
            ids = rows["topic_id"].filter(rows["topic"].is_null())
            self._unnamed.update(pc.unique(ids).drop_null().to_pylist())

    def take_full(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Facts of each output of which enough is held."""
        return self._take(HELD_ROWS)

    def take_rest(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Of all that is held. No row follows."""
        yield from self._take(1)
        if self._unnamed:
            yield UNNAMED_TOPICS, pa.record_batch({"topic_id": [*self._unnamed]})

    def _take(self, at_least: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        for output, held in self._held.items():
            if sum(rows.num_rows for rows in held) < at_least:
                continue
            rows = pa.Table.from_batches(held).combine_chunks().to_batches()[0]
            held.clear()
            for facts in self._facts_of.facts(output, rows).combine_chunks().to_batches():
                yield HOUR_FACTS, facts
