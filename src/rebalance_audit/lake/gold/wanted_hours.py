"""The hours of groups for which rows of gold.group_hours are made."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

KEY: Final = ("group_id", "hour")
ISO: Final = "yyyy-MM-dd'T'HH:mm:ssXXX"


def hour_of(at: Column | str) -> Column:
    """The hour that a moment lies in."""
    return F.date_trunc("hour", at)


def ends_of_hours() -> list[Column]:
    """Aggregates over rows with an `hour`, in ISO 8601: `low`, when the first begins, `high`, when the last ends."""
    return [
        F.date_format(F.min("hour"), ISO).alias("low"),
        F.date_format(F.max("hour") + F.expr("interval 1 hour"), ISO).alias("high"),
    ]


class Wanted:
    """The hours for which rows are made."""

    def __init__(
        self, hours: DataFrame | None = None, low: str | None = None, high: str | None = None
    ) -> None:
        """`hours` have the columns KEY and lie between `low` and `high`, see `ends_of_hours`; None for all hours."""
        self.hours = hours
        self.low, self.high = low, high

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
        return (began < F.lit(self.high).cast("timestamp")) & (
            ended >= F.lit(self.low).cast("timestamp")
        )

    def only(self, rows: DataFrame) -> DataFrame:
        """The rows whose group and hour are wanted."""
        return rows if self.hours is None else rows.join(self.hours, [*KEY], "left_semi")

    def missing(self, rows: DataFrame) -> DataFrame:
        """The rows of the wanted groups that are of other hours."""
        assert self.hours is not None
        of_groups = rows.join(self.hours.select("group_id").distinct(), "group_id", "left_semi")
        return of_groups.join(self.hours, [*KEY], "left_anti")
