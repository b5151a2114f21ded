"""Rows of gold.group_hours as the reducer emits them: one for each group and hour.

The rows of a group id are held until the next one comes. Kafka keeps a group in one partition of the log, but after
partitions were added to it, offset commits of the group may be in several; its records are in one, or the run is
refused.
"""

from rebalance_audit.audit.hours.group_hours import with_commits_elsewhere
from rebalance_audit.audit.rows import GROUP_HOURS, Row
from rebalance_audit.lake.gold.output_rows import OutputRows


class HourRows:
    """Adds up the hours of a group id, whose partitions come one after the other."""

    def __init__(self, rows: OutputRows) -> None:
        """The rows go to `rows`."""
        self._rows = rows
        self._group_id = ""
        self._held: dict[int, tuple[str, Row, bool]] = {}

    def add(self, group_id: str, mark: str, row: Row, *, of_records: bool) -> None:
        """Take the row of an hour; `of_records`: of the partition that has the group's records, not only commits."""
        if group_id != self._group_id:
            self.release()
            self._group_id = group_id
        held = self._held.get(row["hour"])
        if held is not None:
            _, before, was_of_records = held
            row = with_commits_elsewhere(*((before, row) if was_of_records else (row, before)))
            of_records |= was_of_records
        self._held[row["hour"]] = mark, row, of_records

    def release(self) -> None:
        """Emit the rows of the group id: there are no others."""
        for mark, row, _ in self._held.values():
            self._rows.add(GROUP_HOURS, mark, row | {"group_id": self._group_id})
        self._held.clear()
