"""Rows of gold tables as one JSON object: every column of the contract, times as ISO 8601."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.broker_log.file_report import BrokerLogFile
from rebalance_audit.audit.rows import Row
from rebalance_audit.bounds import bounds_columns
from rebalance_audit.cli.input_notes import file_for_programs
from rebalance_audit.cli.output import document
from rebalance_audit.errors import BadRequest
from rebalance_audit.figures.groups import GroupSummary, summaries
from rebalance_audit.figures.ranking import most_severe_first
from rebalance_audit.figures.rows import Tables, picked
from rebalance_audit.report.names import MemberNames
from rebalance_audit.sentences.words import iso
from rebalance_audit.tables.json_values import JSON_VERSION, json_bytes
from rebalance_audit.tables.order import Window, is_by_group
from rebalance_audit.tables.row_shapes import shaper
from rebalance_audit.tables.schemas import table_schemas

GROUPS_MAX: Final = 50
FINDINGS_MAX: Final = 20
AWAITED_MAX: Final = 5


def brief(tables: Tables, cluster: str) -> dict[str, Any]:
    """The object: groups that wait for somebody first, then those that lost most time; `…_in_all` counts them."""
    names = MemberNames(tables["members"])
    groups = summaries(tables)
    findings = most_severe_first(tables)
    return {
        "schema_version": JSON_VERSION,
        "cluster": cluster,
        "groups_in_all": len(groups),
        "groups": [_group(each, names) for each in groups[:GROUPS_MAX]],
        "findings_in_all": len(findings),
        "findings": [_finding(row) for row in findings[:FINDINGS_MAX]],
    }


def _group(group: GroupSummary, names: MemberNames) -> dict[str, Any]:
    culprit = group.culprit
    return {
        "group_id": group.group_id,
        "protocols": list(group.protocols),
        "protocol_type": group.protocol_type,
        "group_state": None if group.present is None else group.present.group_state,
        "members": None if group.present is None else group.present.members,
        "epochs": group.epochs,
        "rebalances": group.rebalances,
        "rebalancing_since": iso(group.open_since_ms),
        "waits_for": [
            names.whole(group.group_id, row["member_id"])
            for row in (group.present.awaited if group.present else ())[:AWAITED_MAX]
        ],
        **bounds_columns(group.not_stable, "not_stable"),
        **bounds_columns(group.unowned, "unowned_partition"),
        "commonest_cause": group.commonest_cause,
        "held_up_by": None if culprit is None else names.whole(group.group_id, culprit.member_id),
    }


def _finding(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **picked(row, "finding_id", "kind", "severity", "group_id"),
        "from_at": iso(row["from_at"]),
        "to_at": iso(row["to_at"]),
        "detail": row["detail"],
    }


_repeated_iso: Final = lru_cache(4096)(iso)
"""Rows of one group have the same few times again and again."""


class TableLines(NamedTuple):
    """Rows of some groups in one table, as JSON."""

    keys: list[Any]
    """What rows of several parts have to be sorted by; empty where the rows of a group stand together."""
    lines: list[bytes]


class Narrowed(NamedTuple):
    """Which rows of an object of tables a program wants."""

    tables: tuple[str, ...] = ()
    """Names, with or without `gold.`; empty for all."""
    window: Window = Window()
    """Rows that begin inside; tables without times keep all."""
    limit: int | None = None
    """The first rows of each table, in order of its key."""
    is_versioned: bool = False
    """Whether the object begins with `schema_version`."""

    def json(self, tables: Mapping[str, Sequence[Row]], cluster: str) -> bytes:
        """The object. Raises BadRequest for a table that is not among these."""
        self.require(tables)
        return b"".join(self.joined([self.lines(tables, cluster)]))

    def names(self, table: str) -> bool:
        """Whether the table is asked for by its name."""
        return table in self._names(())

    def require(self, present: Collection[str]) -> None:
        """Raises BadRequest for a table that is not present."""
        for name in self._names(present):
            if name not in present:
                near = get_close_matches(name, present, n=1)
                there = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(present)}."
                raise BadRequest(f"There is no table {name!r}; {there}")

    def lines(self, tables: Mapping[str, Sequence[Row]], cluster: str) -> dict[str, TableLines]:
        """Part of the object: the wanted tables among these."""
        found: dict[str, TableLines] = {}
        for name in self._names(tables):
            if name in tables:
                rows = self.window.rows(name, tables[name])[: self.limit]
                schema = table_schemas()[f"gold.{name}"]
                keys = [] if is_by_group(name) else [row[schema.key[1]] for row in rows]
                shape_of = shaper(schema, _repeated_iso)
                lines = [b"\n" + json_bytes(shape_of(row, cluster)) for row in rows]
                found[name] = TableLines(keys, lines)
        return found

    def joined(
        self,
        parts: Sequence[Mapping[str, TableLines]],
        broker_logs: Sequence[BrokerLogFile] = (),
    ) -> Iterator[bytes]:
        """The object in pieces to write, out of its parts in order of group ids."""
        of_table: dict[str, list[TableLines]] = {}
        for name, lines in chain.from_iterable(part.items() for part in parts):
            of_table.setdefault(name, []).append(lines)
        return _object(
            {name: _joined(name, of_table[name])[: self.limit] for name in self._names(of_table)},
            is_versioned=self.is_versioned,
            broker_logs=broker_logs,
        )

    def _names(self, tables: Iterable[str]) -> list[str]:
        return [name.removeprefix("gold.") for name in self.tables] or list(tables)


class Brief:
    """What fits into a program's first look."""

    def json(self, tables: Mapping[str, Sequence[Row]], cluster: str) -> bytes:
        """The object of `brief`."""
        return document(brief(tables, cluster))


def row_for_programs(table: str, row: Mapping[str, Any], cluster: str) -> dict[str, Any]:
    """Every column of one row of a gold table, times as ISO 8601."""
    return shaper(table_schemas()[f"gold.{table}"], iso)(row, cluster)


def _joined(name: str, parts: Sequence[TableLines]) -> list[bytes]:
    lines = [line for part in parts for line in part.lines]
    if len(parts) == 1 or is_by_group(name):
        return lines
    keys = [key for part in parts for key in part.keys]
    return [lines[at] for at in sorted(range(len(lines)), key=keys.__getitem__)]


def _object(
    tables: Mapping[str, Sequence[bytes]],
    *,
    is_versioned: bool = False,
    broker_logs: Sequence[BrokerLogFile] = (),
) -> Iterator[bytes]:
    yield b"{"
    between = b""
    if is_versioned:
        yield b'"schema_version":%d' % JSON_VERSION
        between = b",\n"
    if broker_logs:
        yield between + b'"broker_logs":'
        yield json_bytes([file_for_programs(each) for each in broker_logs])
        between = b",\n"
    for name, lines in tables.items():
        yield between + json_bytes(name) + b":["
        for at, line in enumerate(lines):
            yield b"," + line if at else line
        yield b"\n]"
        between = b",\n"
    yield b"}\n"
