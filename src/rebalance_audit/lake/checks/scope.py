"""Which rows a check looks at, and at which time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from rebalance_audit.lake.gold.output_tables import begins_within
from rebalance_audit.tables.rules import CheckBounds
from rebalance_audit.tables.schemas import TableSchema


@dataclass(frozen=True, slots=True)
class Scope:
    """Which rows are checked, and at which time."""

    cluster: str | None = None
    """None: rows of all clusters."""
    from_ms: int | None = None
    """Rows that begin at this moment or later, epoch milliseconds; rows without a time are in every window."""
    to_ms: int | None = None
    """Rows that begin before this moment, epoch milliseconds."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    limits: Mapping[str, int] = field(default_factory=dict)
    """Name of a limit -> milliseconds; if it is 0 or absent, the checks that use it are skipped."""

    kept_ms: Mapping[str, int] = field(default_factory=dict)
    """Full table name -> milliseconds for which rows are kept once they have ended; an absent table keeps all rows."""

    @property
    def is_window(self) -> bool:
        """Whether rows outside a window of time are left out."""
        return self.from_ms is not None or self.to_ms is not None

    @property
    def bounds(self) -> CheckBounds:
        """What checks depend on besides the rows."""
        limits = {name: limit_ms for name, limit_ms in self.limits.items() if limit_ms}
        return CheckBounds(self.now, limits, self.kept_ms)

    def rows(self, schema: TableSchema, table: DataFrame) -> DataFrame:
        """The rows of a table that begin in the window."""
        if schema.begins_at is None:
            return table
        return table.where(begins_within(schema.begins_at, self.from_ms, self.to_ms))
