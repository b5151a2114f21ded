"""The hours of groups for which rows of gold.group_hours are made."""

from datetime import datetime
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.hour_codes import KEY

CLOSE_HOURS: Final = 48
ISO: Final = "yyyy-MM-dd'T'HH:mm:ssXXX"


def hour_of(at: Column | str) -> Column:
    """The hour that a moment lies in."""
    return F.date_trunc("hour", at)


def ends_of_hours() -> list[Column]:
    """Aggregates over rows with an `hour`, in ISO 8601: `low`, when the first begins, `high`, when the last ends.

    And `apart`, how many hours lie between the first and the last.
    """
    return [
        F.date_format(F.min("hour"), ISO).alias("low"),
        F.date_format(F.max("hour") + F.expr("interval 1 hour"), ISO).alias("high"),
        F.expr("timestampdiff(HOUR, min(hour), max(hour))").alias("apart"),
    ]


class Wanted:
    """The hours for which rows are made."""

    def __init__(
        self,
        hours: DataFrame | None = None,
        low: str | None = None,
        high: str | None = None,
        apart: int | None = None,
    ) -> None:
        """`hours` have the columns KEY and lie between `low` and `high`, see `ends_of_hours`; None for all hours."""
        self.hours = hours
        self.low, self.high = low, high
        self.are_close = apart is not None and apart <= CLOSE_HOURS
        """Whether rows of all groups in that time are few enough to be gone through: no join has to pick some."""

    @classmethod
    def of(cls, hours: DataFrame) -> "Wanted":
        """Exactly these hours; reads the frame once."""
        ends = hours.agg(*ends_of_hours()).first()
        assert ends is not None
        return cls(hours, ends["low"], ends["high"])

    def between(self, began: Column, ended: Column) -> Column:
        """What may overlap with the hours: a condition in literals, so that Delta can skip files."""
        if self.low is None:
            return F.lit(True)
        return (began < self._high) & (ended >= self._low)

    @property
    def numbers(self) -> tuple[int | None, int | None]:
        """The first and the last hour of that time, in hours since 1970; None for all."""
        if self.low is None or self.high is None:
            return None, None
        low, high = (datetime.fromisoformat(end) for end in (self.low, self.high))
        return _number(low), _number(high) - 1

    def only(self, rows: DataFrame) -> DataFrame:
        """The rows whose group and hour are wanted."""
        return rows if self.hours is None else rows.join(self.hours, [*KEY], "left_semi")

    def missing(self, rows: DataFrame) -> DataFrame:
        """The rows of the wanted groups that are of other hours."""
        assert self.hours is not None
        of_groups = rows.join(self.hours.select("group_id").distinct(), "group_id", "left_semi")
        return of_groups.join(self.hours, [*KEY], "left_anti")

    @property
    def _low(self) -> Column:
        return F.lit(self.low).cast("timestamp")

    @property
    def _high(self) -> Column:
        return F.lit(self.high).cast("timestamp")


def _number(hour: datetime) -> int:
    return int(hour.timestamp()) // 3_600
