"""How much of the tables a reader wants to see."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from rebalance_audit.figures.rows import Tables, epoch_key, rebalance_key
from rebalance_audit.sentences import words
from rebalance_audit.tables.order import Window
from rebalance_audit.visible import shortened

COUNTED: Final = {"rebalances": "rebalance", "epochs": "epoch", "findings": "finding"}
"""Tables whose rows put a group into a window -> what a row is called."""

NAMED: Final = 5
"""Groups in one sentence."""


class Extent(NamedTuple):
    """Which rows, and how many of each table."""

    everything: bool = False
    """No table is cut, and every epoch is shown with all its records."""
    every_epoch: bool = False
    at_most: int | None = None
    """Rows of each table; None for as many as each usually shows."""
    window: Window = Window()

    def rows(self, usual: int) -> int | None:
        """How many rows of a table are shown that usually shows so many; None for all."""
        if self.everything:
            return None
        return usual if self.at_most is None else self.at_most

    def narrowed(self, tables: Tables) -> Tables:
        """What began in the window, of the groups to which anything happened then.

        An epoch is kept as well where its rebalance is, and causes and members' progress go with their epochs: who held
        a rebalance up would be wrong without them. Members and states stay whole.
        """
        if not self.window.is_limited:
            return tables
        kept = {name: self.window.rows(name, tables[name]) for name in ("rebalances", "ownership")}
        kept["findings"] = self.window.rows("findings", tables.get("findings", ()))
        kept["deploys"] = self.window.rows("deploys", tables.get("deploys", ()))
        whole = set(map(rebalance_key, kept["rebalances"]))
        kept["epochs"] = [
            row
            for row in tables["epochs"]
            if self.window.has(row["started_at"])
            or (row["rebalance_seq"] is not None and rebalance_key(row) in whole)
        ]
        epochs = set(map(epoch_key, kept["epochs"]))
        for name in ("rebalance_causes", "convergence"):
            kept[name] = [row for row in tables[name] if epoch_key(row) in epochs]
        groups = {row["group_id"] for name in COUNTED for row in kept[name]}
        for name in ("members", "group_states"):
            kept[name] = [row for row in tables[name] if row["group_id"] in groups]
        return {**tables, **kept}

    def left_out(self, tables: Tables, kept: Tables, *, named: bool) -> Iterator[str]:
        """Sentences on what `narrowed` left out; none where nothing is limited. `named`: the groups were asked for."""
        if not self.window.is_limited:
            return
        counts = [
            f"{len(kept.get(name, ())):,} of {words.counted(len(tables.get(name, ())), noun)}"
            for name, noun in COUNTED.items()
        ]
        yield f"Only what began {self._when()}: {', '.join(counts)}."
        still = [
            row
            for row in tables["rebalances"]
            if self.window.from_ms is not None
            and row["started_at"] is not None
            and row["started_at"] < self.window.from_ms
            and (row["ended_at"] is None or row["ended_at"] > self.window.from_ms)
        ]
        if still:
            groups = sorted({row["group_id"] for row in still})
            more = f" and {len(groups) - NAMED:,} more" if len(groups) > NAMED else ""
            yield (
                f"{words.counted(len(still), 'rebalance')} that began before went on then and "
                f"{'is' if len(still) == 1 else 'are'} not shown: {', '.join(map(shortened, groups[:NAMED]))}{more}."
            )
        quiet = len(_groups(tables)) - len(_groups(kept))
        if quiet and not named:
            what = words.counted(quiet, "group")
            yield f"{what} with none of them {'is' if quiet == 1 else 'are'} left out."
        yield "Members and states are those of the whole log."

    def _when(self) -> str:
        start, end = self.window
        if start is not None and end is not None:
            return f"between {words.utc(start)} and {words.utc(end)}"
        return f"before {words.utc(end)}" if start is None else f"at {words.utc(start)} or later"


def has_events(tables: Tables) -> bool:
    """Whether there is a row in a table of COUNTED."""
    return any(tables.get(name) for name in COUNTED)


def _groups(tables: Tables) -> set[str]:
    return {
        row["group_id"] for name in ("epochs", "rebalances", "group_states") for row in tables[name]
    }
