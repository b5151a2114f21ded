"""Audit of Kafka consumer-group rebalances from the records of `__consumer_offsets`.

The public interface is what `__all__` names, and `docs/python.md` shows it; everything else may change. Names are
loaded when they are first used, so that importing the package takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from rebalance_audit.version import __version__

if TYPE_CHECKING:
    from rebalance_audit.audit.log_facts import LogFacts
    from rebalance_audit.audit.thresholds import DepartureRules, FindingRules
    from rebalance_audit.errors import (
        BadRequest,
        LakeNotReadable,
        MissingExtra,
        UnknownGroup,
        UnknownPartition,
        UnknownTimeZone,
    )
    from rebalance_audit.local.audit import Audit, audit_segments
    from rebalance_audit.local.decode import decode_segments
    from rebalance_audit.readers.gold_sql import open_sql
    from rebalance_audit.readers.lake_reader import LakeReader, open_lake
    from rebalance_audit.replay.state import State
    from rebalance_audit.report.explained import Explained
    from rebalance_audit.report.figures import plot_group, plot_lost_time
    from rebalance_audit.tables.rows import Rows
    from rebalance_audit.wire.segments.folder import SourceNotReadable

__all__ = [
    "Audit",
    "BadRequest",
    "DepartureRules",
    "Explained",
    "FindingRules",
    "LakeNotReadable",
    "LakeReader",
    "LogFacts",
    "MissingExtra",
    "Rows",
    "SourceNotReadable",
    "State",
    "UnknownGroup",
    "UnknownPartition",
    "UnknownTimeZone",
    "__version__",
    "audit_segments",
    "decode_segments",
    "open_lake",
    "open_sql",
    "plot_group",
    "plot_lost_time",
]

_MODULES: Final = {
    "Audit": "local.audit",
    "BadRequest": "errors",
    "DepartureRules": "audit.thresholds",
    "Explained": "report.explained",
    "FindingRules": "audit.thresholds",
    "LakeNotReadable": "errors",
    "LakeReader": "readers.lake_reader",
    "LogFacts": "audit.log_facts",
    "MissingExtra": "errors",
    "Rows": "tables.rows",
    "SourceNotReadable": "wire.segments.folder",
    "State": "replay.state",
    "UnknownGroup": "errors",
    "UnknownPartition": "errors",
    "UnknownTimeZone": "errors",
    "audit_segments": "local.audit",
    "decode_segments": "local.decode",
    "open_lake": "readers.lake_reader",
    "open_sql": "readers.gold_sql",
    "plot_group": "report.figures",
    "plot_lost_time": "report.figures",
}
"""Public name -> the module that defines it."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
