"""What rebalances cost in records, in sentences."""

from collections.abc import Iterable, Iterator
from typing import Final

from rebalance_audit.bounds import Bounds
from rebalance_audit.figures.rows import TableRow
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import Sentence

_WORTH_NAMING: Final = 10
"""The lag before is named if it is at least one in so many of the delayed records."""


def cost_of(rebalance: TableRow) -> Sentence | None:
    """`Cost: about 41,000 records (38,000 – 44,000) up to 43.0 s late, at most 1,200 read twice.`; None if unknown."""
    parts = [part for part in (_delayed(rebalance), _again(rebalance), _skipped(rebalance)) if part]
    if not parts:
        return None
    return Sentence.plain(
        f"Cost: {', '.join(parts)}.{_perhaps_skipped(rebalance)}{_caught_up(rebalance)}"
    )


def cost_in_total(rebalances: Iterable[TableRow]) -> Iterator[Sentence]:
    """A sentence on all rebalances of a group; none if no cost is known."""
    counted = [row for row in rebalances if row.get("records_delayed_estimate")]
    if not counted:
        return
    total = sum(row["records_delayed_estimate"] for row in counted)
    longest = max(row["longest_stop_ms"] or 0 for row in counted)
    estimated = any(row["records_delayed_by"] == "commit_rate" for row in counted)
    how = ", estimated by the rate of commits" if estimated else ""
    yield Sentence.plain(
        f"Its rebalances delayed about {words.counted(total, 'record')}, by up to "
        f"{words.duration(longest)}{how}."
    )


def _delayed(row: TableRow) -> str:
    estimate = row.get("records_delayed_estimate")
    if not estimate:
        return ""
    stop_ms = row["longest_stop_ms"]
    late = "" if stop_ms is None else f" up to {words.duration(stop_ms)} late"
    if row["records_delayed_by"] == "commit_rate":
        return f"an estimated {words.counted(estimate, 'record')}{late} (by the rate of commits before)"
    text = _number(Bounds(row["records_delayed_min"], row["records_delayed_max"], estimate)) + late
    lagged = row["records_lagged_min"]
    if lagged and lagged * _WORTH_NAMING >= estimate:
        text += f" (at least {lagged:,} of them waited before)"
    return text


def _number(records: Bounds) -> str:
    if records.exact is not None:
        return words.counted(records.exact, "record")
    most = f" – {records.most:,}" if records.most is not None else " or more"
    return f"about {words.counted(records.likely, 'record')} ({records.least:,}{most})"


def _again(row: TableRow) -> str:
    least, most = row.get("records_read_again_min"), row.get("records_read_again_max")
    if least:
        return f"at least {least:,} read twice"
    if most:
        likely = row["records_read_again_estimate"]
        return f"at most {most:,} read twice" + (f", likely {likely:,}" if likely < most else "")
    return ""


def _skipped(row: TableRow) -> str:
    why = row.get("records_skipped_why")
    if why == "retention":
        return f"at least {row['records_skipped_min']:,} deleted by retention before they were committed"
    if why == "offsets_reset":
        most = row["records_skipped_max"]
        count = "an unknown number" if most is None else f"at most {most:,}"
        return f"{count} skipped (the committed offset was moved while the group was empty)"
    return ""


def _perhaps_skipped(row: TableRow) -> str:
    most = row.get("records_skipped_max")
    if not most or row.get("records_skipped_why") in {"retention", "offsets_reset"}:
        return ""
    return (
        f" As many as {words.counted(most, 'record')} may have been skipped: the log shows the first offset that was "
        "committed after, not where reading began."
    )


def _caught_up(row: TableRow) -> str:
    most = row.get("catch_up_max_ms")
    if most is None:
        return ""
    # Who begins at the end has not read what waited.
    if row.get("records_skipped_max") == 0:
        return f" Caught up within {words.duration(most)}."
    return f" The end was committed within {words.duration(most)}."
