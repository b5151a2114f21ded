"""What a run is asked to do, and checks that need no Spark."""

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.lag.end_offsets import EndOffsets
from rebalance_audit.audit.thresholds import DepartureRules, FindingRules
from rebalance_audit.errors import BadRequest, LakeNotWritable
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.storage.table_place import LakeOptions
from rebalance_audit.location import is_catalog, local_path, parse_catalog
from rebalance_audit.tables.order import Window

BRONZE: Final = "bronze"
SILVER: Final = "silver"
GOLD: Final = "gold"
ALL_LAYERS: Final = frozenset({BRONZE, SILVER, GOLD})
GOLD_ONLY: Final = frozenset({GOLD})


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run.

    `from_ms` and `to_ms` limit which rows are written, never what is replayed: the state of a group at the start of a
    window follows from records before it, and rows inside a window are the same as in a full run.
    """

    source: Source | None
    """None: audit what bronze has."""
    lake: str
    cluster: str
    groups_regex: str | None = None
    """A Java regular expression: only groups whose id has a match. None for all."""
    from_ms: int | None = None
    """Only rows that begin at this moment or later, epoch milliseconds."""
    to_ms: int | None = None
    """Only rows that begin before this moment, epoch milliseconds."""
    full: bool = False
    """Rebuild everything, whatever earlier runs left."""
    layers: Collection[str] = ALL_LAYERS
    """ALL_LAYERS: the source goes into bronze, and all else is made from there. GOLD_ONLY: straight from the source."""
    rules: DepartureRules = field(default_factory=DepartureRules)
    findings: FindingRules = field(default_factory=FindingRules)
    broker_log: BrokerLog | None = None
    """What the brokers logged, in the time of their own clocks."""
    end_offsets: EndOffsets | None = None
    """Samples of end offsets to keep in bronze."""
    options: LakeOptions = field(default_factory=LakeOptions)
    command: str = "run"
    explain: bool = False
    """Report how long each step took, and how many commits it made."""
    config: str | None = None
    """The effective configuration, for the run log."""

    @property
    def with_silver(self) -> bool:
        """Whether the run goes through bronze and silver."""
        return frozenset(self.layers) == ALL_LAYERS

    @property
    def has_window(self) -> bool:
        """Whether rows outside of some time are left out."""
        return self.from_ms is not None or self.to_ms is not None

    @property
    def covers_everything(self) -> bool:
        """Whether every group and every moment was asked for."""
        return self.groups_regex is None and not self.has_window

    @property
    def source_spec(self) -> str:
        """What the user calls the source."""
        return BRONZE if self.source is None else self.source.spec


def check_request(request: RunRequest) -> None:
    """Raises BadRequest, SourceNotReadable or LakeNotWritable. Writes nothing, and reads only what the checks need."""
    if frozenset(request.layers) not in (ALL_LAYERS, GOLD_ONLY):
        raise BadRequest(
            f"layers {', '.join(sorted(request.layers))}: write either all of"
            f" {', '.join(sorted(ALL_LAYERS))} or gold alone."
        )
    if Window(request.from_ms, request.to_ms).is_empty:
        raise BadRequest("The window is empty: its end is not after its start.")
    if not request.cluster:
        raise BadRequest("The name of the cluster is empty.")
    _check_lake(request.lake)
    if request.end_offsets is not None and not request.with_silver:
        raise BadRequest("Samples of end offsets are kept in bronze: write all layers.")
    if request.source is not None:
        request.source.check()
    elif not request.with_silver:
        raise BadRequest("Gold alone is made straight from a source: give one.")


def _check_lake(lake: str) -> None:
    """A local lake must be in a folder that exists or can be made; other storage and catalogs are left to Spark."""
    if is_catalog(lake):
        parse_catalog(lake)
        return
    path = local_path(lake)
    if path is None:
        return
    path = path.absolute()
    for found in (path, *path.parents):
        if found.exists():
            if not found.is_dir():
                raise LakeNotWritable(f"The lake {lake} cannot be written: {found} is a file.")
            if not os.access(found, os.W_OK | os.X_OK):
                raise LakeNotWritable(f"The lake {lake} cannot be written: no access to {found}.")
            return
    raise AssertionError("the root of a file system exists")
