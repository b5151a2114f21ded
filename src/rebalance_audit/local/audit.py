"""The audit of a folder of segments without Spark.

Kept are the state of the groups, the rows of the answer, and a bounded part of what waits to be replayed
(`single_pass_log`).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from rebalance_audit.audit.broker_log.read import files_of
from rebalance_audit.audit.deploys.deploy_rows import deploy_rows
from rebalance_audit.audit.deploys.read import DeploysRead
from rebalance_audit.audit.lag.end_offsets import no_end_offsets
from rebalance_audit.audit.log_facts import LogFacts
from rebalance_audit.audit.options import AuditOptions, has_nothing
from rebalance_audit.audit.rows import DEPLOYS, GOLD_OF_GROUP, PROGRESS, TOPICS, Row
from rebalance_audit.audit.thresholds import DepartureRules, FindingRules
from rebalance_audit.errors import BadRequest, require_known, two_histories
from rebalance_audit.local.given_files import (
    aligned_with,
    read_broker_logs,
    read_deploys,
    read_end_offsets,
)
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.local.shares import (
    Finish,
    Finished,
    counts_of,
    replay_shares,
    undecodable_of,
)
from rebalance_audit.local.single_pass_log import SinglePassLog
from rebalance_audit.local.state import group_ids_of, segment_state
from rebalance_audit.moment_text import MomentLike, moment_ms
from rebalance_audit.moments import utc_datetime
from rebalance_audit.replay.state import State
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.tables.order import in_key_order, is_by_group
from rebalance_audit.tables.row_shapes import shaper
from rebalance_audit.tables.rows import GoldRows, Rows, schema_of
from rebalance_audit.tables.schemas import TableSchema
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.segments.folder import LogFolder, SourceNotReadable
from rebalance_audit.wire.topic_names import rows_in_table

if TYPE_CHECKING:
    import pyarrow as pa

    from rebalance_audit.report.explained import Explained


class AuditRows(Rows):
    """Rows as the audit made them, shaped when they are asked for."""

    def __init__(self, schema: TableSchema, rows: Sequence[Row], cluster: str) -> None:
        """`rows` have no `cluster`; their times are epoch milliseconds."""
        super().__init__(schema)
        self._rows = rows
        self._cluster = cluster
        self._shape = shaper(schema, utc_datetime)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return (self._shape(row, self._cluster) for row in self._rows)

    def _row(self, number: int) -> Row:
        return self._shape(self._rows[number], self._cluster)

    def _filtered(
        self, groups: frozenset[str], start_ms: int | None, end_ms: int | None
    ) -> "AuditRows":
        rows = [row for row in self._rows if not groups or row["group_id"] in groups]
        if (start_ms, end_ms) != (None, None):
            begins = self.schema.begins_at
            assert begins is not None
            rows = [
                row
                for row in rows
                if row[begins] is not None
                and (start_ms is None or row[begins] >= start_ms)
                and (end_ms is None or row[begins] < end_ms)
            ]
        return AuditRows(self.schema, rows, self._cluster)

    def _arrow(self) -> "pa.Table":
        from rebalance_audit.tables.arrow_types import arrow_table  # noqa: PLC0415 - imports Arrow

        return arrow_table(self.schema, self._rows, self._cluster)


@dataclass(frozen=True, repr=False)
class Audit(GoldRows):
    """What the audit of a log found: the gold tables, as `epochs` and `causes`, and facts about the log."""

    tables: dict[str, list[Row]]
    """Gold table (`epochs`) -> rows in order of the table's key, without `cluster`; times are epoch milliseconds."""
    facts: LogFacts
    """Counts of the log, and what was odd about it."""
    group_ids: frozenset[str]
    """The groups that the log has records of, those with nothing but offset commits aside."""
    cluster: str
    """Name of the Kafka cluster, as the caller gave it."""
    folder: LogFolder
    """The files that were read."""
    progress: Sequence[Row] = ()
    """Rows of gold.progress, made as they are asked for; empty unless the audit was asked for them."""

    def table(self, name: str) -> AuditRows:
        """The rows of a gold table by its full name, as `gold.epochs`. Raises BadRequest for other layers.

        `gold.progress` is empty unless the audit was asked for it.
        """
        schema = schema_of(name)
        if schema.layer != "gold":
            raise BadRequest(f"{name} is a table of a lake: the audit of a log does not fill it.")
        rows = self.progress if schema.name == PROGRESS else self.tables.get(schema.name, [])
        return AuditRows(schema, rows, self.cluster)

    def of_cluster(self, cluster: str | None) -> "Audit":
        """These rows, which are of one cluster; as for a lake. Raises BadRequest for another one."""
        if cluster not in {None, self.cluster}:
            raise BadRequest(f"There is no cluster {cluster!r}; there is {self.cluster!r}.")
        return self

    def state(self, at: MomentLike | None = None, groups: Collection[str] = ()) -> State:
        """The groups as they were at a moment, or at the end of the log, replayed from the segments.

        `groups`: only these. Each group has the shape of Kafka's own describe commands (`replay.describe`), with its
        members, assignments and committed offsets. Raises UnknownGroup, BadRequest for an unreadable time, and
        OSError that names the file.
        """
        return segment_state(self.folder, groups, moment_ms(at))

    def explain(
        self, group_id: str, *, epoch: int | None = None, at: MomentLike | None = None
    ) -> "Explained":
        """Why a group rebalanced, how long it took, who held it up, and what is not known, in sentences.

        About the group as a whole, one epoch (generation) by its number, or the epoch of a time. Printed it is text,
        in a notebook it is formatted. Raises UnknownGroup, and BadRequest for an epoch or a time that the log does
        not have.
        """
        from rebalance_audit.report.explained import explained  # noqa: PLC0415 - imports Rich

        return explained(
            self.rows_of_group(group_id),
            group_id,
            epoch,
            moment_ms(at),
            self.log_end_ms(),
            has_broker_log=bool(self.facts.broker_logs),
        )

    def rows_of_group(self, group_id: str) -> dict[str, list[Row]]:
        """Gold table -> the rows of one group. Raises UnknownGroup."""
        require_known([group_id], self.group_ids)
        return {
            name: [row for row in self.tables[name] if row["group_id"] == group_id]
            for name in (*GOLD_OF_GROUP, DEPLOYS)
            if name in self.tables
        }

    def log_end_ms(self) -> int | None:
        """Time of the last record, in epoch milliseconds."""
        return self.facts.last_ms

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(rows):,} {name}" for name, rows in self.tables.items())
        return f"<audit of {self.facts.source}: {counts}>"


class AuditParts(NamedTuple, Generic[Finished]):
    """What the audit of a log found, in parts of some groups each."""

    parts: list[Finished]
    """In order of group ids."""
    topics: list[Row]
    """Rows of gold.topics, which belong to no group, in order of the key."""
    facts: LogFacts
    group_ids: frozenset[str]
    folder: LogFolder


class Given(NamedTuple):
    """What the caller gives beside a log, as `audit_segments` has it."""

    broker_logs: Iterable[str | Path] = ()
    departure_rules: DepartureRules | None = None
    finding_rules: FindingRules | None = None
    broker_log_time_zone: str = "UTC"
    end_offsets: Iterable[str | Path] = ()
    deploys: Iterable[str | Path] = ()


def audit_segments(
    path: str | Path,
    groups: Collection[str] = (),
    broker_logs: Iterable[str | Path] = (),
    *,
    cluster: str = "default",
    departure_rules: DepartureRules | None = None,
    finding_rules: FindingRules | None = None,
    broker_log_time_zone: str = "UTC",
    end_offsets: Iterable[str | Path] = (),
    deploys: Iterable[str | Path] = (),
    with_progress: bool = False,
    on_progress: OnProgress = no_progress,
) -> Audit:
    """Audit a folder of `__consumer_offsets-P` folders, one such folder, one segment file, or an archive of them.

    `groups`: only these groups; all of them if empty.
    `broker_logs`: files of brokers' logs in any layout, packed or not, or folders of them. Their clocks are set by the
    records; `facts.broker_logs` says what became of each file.
    `broker_log_time_zone`: of log lines that name none, as `Europe/Berlin` or `+02:00`.
    `end_offsets`: files of samples of end offsets, or folders with copies of topic partitions (docs/lag.md); they bound
    how many records a rebalance delayed.
    `deploys`: files of rollouts (docs/deploys.md); the table `gold.deploys` says which rebalances belong to them.
    `with_progress`: fill gold.progress too, for which the log is read once more.
    `cluster`: the first column of every table.
    `departure_rules`, `finding_rules`: times of the cluster that the log does not hold, and thresholds of findings; by
    default those of `conf/base.toml`.
    `on_progress`: called with progress updates.

    A group with records in several partitions of the log is left out, and `facts.notes` says so.

    Raises SourceNotReadable, also if such a group is among `groups`; OSError that names the file, UnknownGroup for a
    group that no record names, and UnknownTimeZone.
    """
    given = Given(
        broker_logs,
        departure_rules,
        finding_rules,
        broker_log_time_zone,
        end_offsets,
        deploys,
    )
    found = audit_in_parts(
        path,
        groups,
        given,
        finish=lambda tables: tables,
        with_progress=with_progress,
        on_progress=on_progress,
    )
    tables: dict[str, Any] = {name: _joined(name, found.parts) for name in found.parts[0]}
    tables[TOPICS] = found.topics
    progress = tables.pop(PROGRESS, ())
    return Audit(tables, found.facts, found.group_ids, cluster, found.folder, progress)


def audit_in_parts(
    path: str | Path,
    groups: Collection[str],
    given: Given,
    *,
    finish: Finish[Finished],
    with_progress: bool = False,
    on_progress: OnProgress = no_progress,
) -> AuditParts[Finished]:
    """As `audit_segments`, but `finish` makes something picklable of the tables, perhaps in several processes.

    It may be given all groups at once, or ranges of their ids.
    """
    folder = open_log(path)
    paths = files_of(Path(each) for each in given.broker_logs)
    samples = read_end_offsets(Path(each) for each in given.end_offsets)
    rollouts = read_deploys(Path(each) for each in given.deploys)
    look = SinglePassLog(folder, on_progress)
    total, names = look.total, look.names
    log = read_broker_logs(paths, given.broker_log_time_zone, groups, total.last_ms)
    clocks = None if log is None else aligned_with(folder, log)
    options = AuditOptions(
        topic_name=names.name_of,
        rules=given.departure_rules or DepartureRules(),
        topic_deleted_at=names.deleted_at_ms,
        topic_lives=names.lives_of,
        topic_shapes=names.shapes_of,
        findings=given.finding_rules or FindingRules(),
        log_end_ms=total.last_ms,
        is_whole=total.is_whole,
        holes=total.holes,
        broker_facts=has_nothing if clocks is None else clocks.log.facts_of,
        end_offsets=samples.of if samples else no_end_offsets,
    )
    finish = _with_deploys(finish, rollouts) if rollouts.files else finish
    shares = replay_shares(
        *(look, options, key_bytes.of_groups(groups), finish, on_progress),
        with_progress=with_progress,
    )
    group_ids = frozenset(group_id for share in shares for group_id in share.met)
    split = {group_id: places for share in shares for group_id, places in share.split.items()}
    for group_id in split.keys() & groups:
        raise SourceNotReadable(two_histories(group_id, split[group_id]))
    left_out = [two_histories(group_id, split[group_id]) for group_id in sorted(split)]
    if not group_ids.issuperset(groups):
        require_known(groups, group_ids_of(folder))
    facts = LogFacts(
        source=str(path),
        log_partitions=len(folder.segments),
        size_bytes=folder.size_bytes,
        records=total.records,
        offset_commits=total.offset_commits,
        first_ms=total.first_ms,
        last_ms=total.last_ms,
        undecodable=undecodable_of(shares),
        anomalies=counts_of(shares, attrgetter("anomalies")),
        notes=[
            *total.damage,
            *(note.detail for note in folder.notes),
            *names.notes,
            *(() if clocks is None else (*clocks.notes, *clocks.log.unmatched_notes(group_ids))),
            *left_out,
        ],
        unfinished_ends=total.unfinished_ends,
        unread=counts_of(shares, attrgetter("unread")),
        broker_logs=() if log is None else tuple(each.outcome(group_ids) for each in log.files),
        left_out=left_out,
        deploys=rollouts,
    )
    topics = in_key_order(TOPICS, rows_in_table(names))
    parts = [share.finished for share in shares]
    return AuditParts(parts, topics, facts, group_ids, folder)


def _with_deploys(finish: Finish[Finished], read: DeploysRead) -> Finish[Finished]:
    """`finish` over tables that include the rollouts."""

    def finish_all(tables: dict[str, list[Row]]) -> Finished:
        return finish({**tables, DEPLOYS: in_key_order(DEPLOYS, deploy_rows(tables, read.deploys))})

    return finish_all


def _joined(name: str, parts: Sequence[dict[str, Any]]) -> Any:
    """The rows of a table, in order of its key."""
    of_parts = [part[name] for part in parts]
    if name == PROGRESS:
        return of_parts[0].joined(of_parts[1:])
    rows = [row for rows in of_parts for row in rows]
    return rows if len(parts) == 1 or is_by_group(name) else in_key_order(name, rows)
