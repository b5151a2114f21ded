"""Which hours of which groups gold.group_hours is made for."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

KEY: Final = ("group_id", "hour")
ISO: Final = "yyyy-MM-dd'T'HH:mm:ssXXX"


def hour_of(at: Column | str) -> Column:
    """The hour that a moment lies in."""
    return F.date_trunc("hour", at)


def ends_of_hours() -> list[Column]:
    """Of rows with an `hour`: when the first begins and the last ends, as text."""
    return [
        F.date_format(F.min("hour"), ISO).alias("low"),
        F.date_format(F.max("hour") + F.expr("interval 1 hour"), ISO).alias("high"),
    ]


class Wanted:
    """The hours that are to be made."""

    def __init__(
        self, hours: DataFrame | None = None, low: str | None = None, high: str | None = None
    ) -> None:
        """Of `hours` (group and hour), between two moments, see `ends_of_hours`; without, all there are."""
        self.hours = hours
        self.low, self.high = low, high

    @classmethod
    def of(cls, hours: DataFrame) -> "Wanted":
        """These, looked through once."""
        ends = hours.agg(*ends_of_hours()).first()
        assert ends is not None
        return cls(hours, ends["low"], ends["high"])

    def between(self, began: Column, ended: Column) -> Column:
        """What may reach into the hours: literals, so that files can be left out."""
        if self.low is None:
            return F.lit(True)
        return (began < F.lit(self.high).cast("timestamp")) & (
            ended >= F.lit(self.low).cast("timestamp")
        )

    def only(self, rows: DataFrame) -> DataFrame:
        """Rows whose group and hour are wanted."""
        return rows if self.hours is None else rows.join(self.hours, [*KEY], "left_semi")

    def missing(self, rows: DataFrame) -> DataFrame:
        """Rows of the groups, but not of the hours."""
        assert self.hours is not None
        of_groups = rows.join(self.hours.select("group_id").distinct(), "group_id", "left_semi")
        return of_groups.join(self.hours, [*KEY], "left_anti")
