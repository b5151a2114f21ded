"""The gold tables of an audit or of a lake, by name."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from rebalance_audit.errors import BadRequest
from rebalance_audit.tables.rows import Rows
from rebalance_audit.tables.schemas import TableName, TableSchema, table_schemas


class GoldRows(ABC):
    """What `Audit` and `LakeReader` have in common: the tables that docs/tables.md describes column by column."""

    @abstractmethod
    def table(self, name: str) -> Rows:
        """The rows of a table by its full name, as `gold.epochs`. Raises BadRequest for a table that there is not."""

    @abstractmethod
    def rows_of_group(self, group_id: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Gold table (`epochs`) -> the rows of one group, as reports take them: times are epoch milliseconds.

        Raises UnknownGroup, and LakeNotReadable for a lake of several clusters if none was chosen.
        """

    @abstractmethod
    def log_end_ms(self) -> int | None:
        """When the log ends, in epoch milliseconds; None where that is not known. Raises LakeNotReadable as above."""

    @property
    def epochs(self) -> Rows:
        """One row per group epoch or generation: when it began and converged, what it moved, its primary cause."""
        return self.table(TableName.EPOCHS)

    @property
    def causes(self) -> Rows:
        """One row per cause of an epoch, the primary one first, with certainty, alternatives and evidence."""
        return self.table(TableName.REBALANCE_CAUSES)

    @property
    def rebalances(self) -> Rows:
        """One row per rebalance: the epochs from a stable group to the next stable one."""
        return self.table(TableName.REBALANCES)

    @property
    def convergence(self) -> Rows:
        """One row per epoch and member: how long the member took, and what it waited for."""
        return self.table(TableName.CONVERGENCE)

    @property
    def members(self) -> Rows:
        """One row per life of a member: when and how it came and went."""
        return self.table(TableName.MEMBERS)

    @property
    def ownership(self) -> Rows:
        """One row per partition and stretch of time in which one member owned it, with the gap before."""
        return self.table(TableName.OWNERSHIP)

    @property
    def group_states(self) -> Rows:
        """One row per stretch of time in which a group was in one state."""
        return self.table(TableName.GROUP_STATES)

    @property
    def findings(self) -> Rows:
        """One row per finding: a pattern worth attention, with severity, evidence and advice."""
        return self.table(TableName.FINDINGS)

    @property
    def group_hours(self) -> Rows:
        """One row per group and hour in which something happened; an audit of a log says nothing of commits there."""
        return self.table(TableName.GROUP_HOURS)

    @property
    def topics(self) -> Rows:
        """One row per topic id with its name, as far as the log or the metadata log has it."""
        return self.table(TableName.TOPICS)


def schema_of(name: str) -> TableSchema:
    """The schema of a table by its full name. Raises BadRequest."""
    try:
        return table_schemas()[name]
    except KeyError:
        raise BadRequest(f"There is no table {name!r}; see docs/tables.md.") from None
