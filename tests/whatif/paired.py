"""The paired captures: groups under different protocols to which one script did the same, and what clients saw."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rebalance_audit.local.audit import Audit, audit_segments
from rebalance_audit.whatif.extraction import script_of
from rebalance_audit.whatif.group_rows import group_rows
from rebalance_audit.whatif.script import Script
from rebalance_audit.whatif.variant import Variant
from tests.support.archives import unpack

FOLDER: Final = Path(__file__).resolve().parents[1] / "golden" / "paired"
PACKED: Final = {path.name.partition(".")[0]: path for path in sorted(FOLDER.rglob("*.tar.xz"))}
"""Name of each capture -> its archive."""
CHANGES: Final = {
    "same-eager": Variant("classic", "range", is_static=False, session_timeout_ms=6_000),
    "same-coop": Variant(
        "classic", "cooperative-sticky", is_static=False, session_timeout_ms=6_000
    ),
    "same-static": Variant("classic", "range", is_static=True, session_timeout_ms=30_000),
    "same-848": Variant("consumer", "uniform", is_static=False, session_timeout_ms=6_000),
    "same-848-static": Variant("consumer", "uniform", is_static=True, session_timeout_ms=30_000),
}
"""Each group -> the settings that its clients had, as changes to any of its siblings."""


@dataclass(frozen=True)
class Seen:
    """What the clients' callbacks and the broker saw of one group in its window."""

    from_ms: int
    to_ms: int
    rebalances: int
    partitions_moved: int
    unowned_ms: int


@dataclass(frozen=True)
class Paired:
    """One capture."""

    audit: Audit
    seen: dict[str, Seen]

    def script(self, group_id: str) -> Script:
        """The script of a group, of the window that its truth is about."""
        seen = self.seen[group_id]
        rows = group_rows(self.audit.tables, group_id, self.audit.facts.last_ms)
        return script_of(rows, seen.from_ms, seen.to_ms)


@contextmanager
def unpacked(name: str) -> Iterator[Path]:
    """A capture as a folder."""
    with tempfile.TemporaryDirectory() as folder:
        unpack(PACKED[name], Path(folder))
        yield Path(folder)


def paired(name: str) -> Paired:
    """A capture with its truth."""
    with unpacked(name) as folder:
        truth: dict[str, dict[str, Any]] = json.loads(
            (folder / "truth-pairs.json").read_text(encoding="utf-8")
        )["groups"]
        audit = audit_segments(folder / "segments")
    seen = {
        group_id: Seen(
            group["settled_ms"],
            group["end_ms"],
            group["rebalances"],
            group["moved"],
            round(1_000 * group["unowned_s"]),
        )
        for group_id, group in truth.items()
    }
    return Paired(audit, seen)
