"""Reads the rows that a page is made of, from a lake or from an audit. Importing this imports Arrow and DuckDB."""

import shlex
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from rebalance_audit.audit.rows import DEPLOYS, Row
from rebalance_audit.bounds import NOTHING
from rebalance_audit.cli.input_notes import deploys_of_lake
from rebalance_audit.errors import require_known
from rebalance_audit.figures.rows import bounds_in
from rebalance_audit.local.audit import Audit
from rebalance_audit.readers.gold import log_end_ms
from rebalance_audit.readers.lake_reader import open_lake
from rebalance_audit.readers.report_rows import ReportRows
from rebalance_audit.readers.tables import open_table, require_cluster
from rebalance_audit.report.html.facts import DAY_MS, PageFacts, bucket_size
from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.tables.fleet_names import cluster_and_group, named_in_fleet, with_fleet_names
from rebalance_audit.tables.order import Window
from rebalance_audit.tables.rows import GoldRows

FINDINGS_MAX: Final = 5
"""Findings of each kind and severity over all groups."""

DETAIL_LIMITS: Final = {
    "epochs": 300,
    "states": 600,
    "group_causes": 12,
    "held_up": 8,
    "rebalances": 300,
    "longest": 7,
    "longest_epochs": 100,
    "longest_causes": 500,
    "lag": 300,
}
"""Rows of one group that its section is made of."""
LANE_ROWS_MAX: Final = 1500
LANE_ROWS_LEAST: Final = 60
LANE_ROWS_OF_ALL: Final = 150_000
"""Rows of one group that its lanes are made of: fewer, the more groups the page has."""
MARKS_MAX: Final = 2000
MARKS_OF_ALL: Final = 150_000
"""Rebalances of one group, and of all of them, in the picture of all groups."""
MARKED_GROUPS_MAX: Final = 2000
BUCKETS_MAX: Final = 100_000
"""Pieces of time over which one rebalance may be spread: clocks of coordinators may be wrong by years."""
MOVERS: Final = 10
"""Groups that are named when one week is held against the other."""
GROUP_FINDINGS_MAX: Final = 12
COSTLIEST_MAX: Final = 100
"""Rebalances that are listed one by one, over all groups."""
WORST_GROUPS_MAX: Final = 20
"""Groups among which the worst rebalance is looked for: those with the longest one, and those still rebalancing."""
MEMBERS_MAX: Final = 2000
"""Members of one group whose names are known; the others go by their ids."""


class PageSource(NamedTuple):
    """Where the gold tables of a page lie."""

    name: str
    """The folder of the log or of the lake."""
    clusters: Sequence[str]
    """One, or those of a fleet, whose groups go by their `fleet_name`."""
    arguments: str
    """What names it to `inspect` and `explain`, quoted for a shell."""
    open_gold: Callable[[str], pa.Table | ds.Dataset]
    require_cluster: Callable[[], None]
    """Raises LakeNotReadable where nothing was ever written about the cluster."""
    gold: GoldRows
    """The gold tables row by row."""
    deploys: Sequence[Row] = ()
    """Rows of gold.deploys."""

    @property
    def is_fleet(self) -> bool:
        """Whether it has several clusters."""
        return len(self.clusters) > 1

    def log_end_ms(self) -> int | None:
        """When the log ends, of several the last one; epoch milliseconds, None where that is not known."""
        if not self.is_fleet:
            return self.gold.log_end_ms()
        ends = (log_end_ms(self.name, cluster) for cluster in self.clusters)
        return max((end for end in ends if end is not None), default=None)


def of_lake(lake: str, clusters: Sequence[str], deploys: tuple[Path, ...] = ()) -> PageSource:
    """The tables that `run` left in a lake, of one of its clusters or of all.

    Raises LakeNotReadable and, for files of rollouts, SourceNotReadable.
    """
    tables = deploys_of_lake(lake, clusters, deploys)
    if len(clusters) > 1:
        tables = with_fleet_names(tables)
    one = clusters[0] if len(clusters) == 1 else None
    named = "" if one is None else f" --cluster {shlex.quote(one)}"
    return PageSource(
        lake,
        clusters,
        f"--lake {shlex.quote(without_credentials(lake))}{named}",
        partial(open_table, lake),
        partial(require_cluster, lake, clusters[0]),
        open_lake(lake, one),
        tables.get(DEPLOYS, ()),
    )


def of_audit(segments: Path, audit: Audit) -> PageSource:
    """The tables of a log that was just audited."""

    def rows(name: str) -> pa.Table:
        return audit.table(name).to_arrow()

    return PageSource(
        str(segments),
        (audit.cluster,),
        shlex.quote(str(segments)),
        rows,
        lambda: None,
        audit,
        audit.tables.get(DEPLOYS, ()),
    )


def report_facts(
    source: PageSource,
    *,
    from_ms: int | None = None,
    to_ms: int | None = None,
    group_ids: tuple[str, ...] = (),
    details: int,
) -> PageFacts:
    """Raises LakeNotReadable, also where no run was about the cluster.

    Raises UnknownGroup for a group that the tables do not have.
    """
    cluster = None if source.is_fleet else source.clusters[0]
    with closing(ReportRows(source.open_gold, cluster, from_ms, to_ms)) as rows:
        totals = rows.ask("totals")[0]
        if not totals["groups"]:
            source.require_cluster()
        groups = _groups(rows)
        if source.is_fleet:
            known = {cluster_and_group(group["group_id"])[1] for group in groups}
            require_known(group_ids, known)
            group_ids = named_in_fleet(groups, group_ids)
        require_known(group_ids, {group["group_id"] for group in groups})
        size = bucket_size(totals["first_epoch_ms"], totals["last_epoch_ms"])
        detailed = list(
            dict.fromkeys([*group_ids, *(group["group_id"] for group in groups[:details])])
        )
        findings = rows.ask("findings", group_ids=None, limit=FINDINGS_MAX)
        costliest = rows.ask("costliest", limit=COSTLIEST_MAX)
        worst = _worst_groups(groups)
        named = {row["group_id"] for row in (*findings, *costliest) if row["group_id"] is not None}
        named.update(worst)
        parts = {name: rows.of_groups(name, detailed, most) for name, most in DETAIL_LIMITS.items()}
        lane_rows = max(
            LANE_ROWS_LEAST, min(LANE_ROWS_MAX, LANE_ROWS_OF_ALL // max(1, len(detailed)))
        )
        for name in ("owned", "progress"):
            parts[name] = rows.of_groups(name, detailed, lane_rows)
        marked = [group["group_id"] for group in groups[:MARKED_GROUPS_MAX]]
        marks_each = max(1, min(MARKS_MAX, MARKS_OF_ALL // max(1, len(marked))))
        parts["findings"] = rows.of_groups("findings", detailed, GROUP_FINDINGS_MAX)
        parts["members"] = rows.of_groups("members", sorted(named.union(detailed)), MEMBERS_MAX)
        log_ended_ms = source.log_end_ms()
        ends = (end for end in (log_ended_ms, to_ms) if end is not None)
        end_ms = min(ends, default=totals["last_ms"] or 0)
        return PageFacts(
            clusters=source.clusters,
            source=without_credentials(source.name),
            arguments=source.arguments,
            windowed=from_ms is not None or to_ms is not None,
            log_end_ms=log_ended_ms,
            end_ms=end_ms,
            worst={
                "findings": [*findings, *rows.of_groups("findings", worst, GROUP_FINDINGS_MAX)],
                "rebalances": rows.of_groups("longest", worst, DETAIL_LIMITS["longest"]),
                "epochs": (),
                "rebalance_causes": (),
                "members": parts["members"],
                "group_states": [
                    state | {"group_id": group["group_id"]}
                    for group in groups
                    if group["group_id"] in worst
                    for state in group["states"] or ()
                ],
            },
            totals=totals,
            groups=groups,
            causes=rows.ask("causes"),
            bucket_ms=size,
            buckets=rows.ask("buckets", size=size),
            cost_buckets=rows.ask("cost_buckets", size=size, end=end_ms, most=BUCKETS_MAX),
            costliest=costliest,
            findings=findings,
            finding_counts=rows.ask("finding_counts"),
            deploys=Window(from_ms, to_ms).rows(DEPLOYS, source.deploys),
            bars=rows.of_groups("bars", marked, marks_each),
            weeks=_weeks(rows, totals),
            detailed=detailed,
            details=parts,
        )


def _groups(rows: ReportRows) -> list[Row]:
    """A row per group, those that need attention most first, with its present `states`; None without a record."""
    states: dict[str, list[Row]] = {}
    for row in rows.ask("present"):
        own = states.setdefault(row["group_id"], [])
        if row["incarnation"] is not None:
            own.append(row)
    return [{**row, "states": states.get(row["group_id"])} for row in rows.ask("groups")]


def _worst_groups(groups: list[Row]) -> list[str]:
    longest = sorted(
        groups,
        key=lambda row: ((bounds_in(row, "longest") or NOTHING).rank, row["group_id"]),
        reverse=True,
    )
    stuck = sorted(
        (row for row in groups if row["is_stuck"]), key=lambda row: row["open_since_ms"] or 0
    )
    chosen = (*stuck[:WORST_GROUPS_MAX], *longest[:WORST_GROUPS_MAX])
    return list(dict.fromkeys(row["group_id"] for row in chosen))


def _weeks(rows: ReportRows, totals: Row) -> list[Row]:
    """None where the log spans less than two weeks, and only groups that got worse."""
    first_ms, last_ms = totals["first_epoch_ms"], totals["last_epoch_ms"]
    if first_ms is None or last_ms is None or last_ms - first_ms < 14 * DAY_MS:
        return []
    middle_ms = last_ms - 7 * DAY_MS
    return rows.ask(
        "compared_groups",
        first_from_ms=last_ms - 14 * DAY_MS,
        first_to_ms=middle_ms,
        second_from_ms=middle_ms,
        second_to_ms=last_ms + 1,
        group=None,
        cluster=None,
        worse=True,
        most=MOVERS,
    )
