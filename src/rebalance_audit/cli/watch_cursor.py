"""What `watch` has reported, in a file, so that it resumes from there after a restart."""

import zlib
from pathlib import Path
from typing import Any, Final

import orjson

from rebalance_audit.cli.output import write_file
from rebalance_audit.errors import BadRequest
from rebalance_audit.local.live.live_audit import GroupUpdate
from rebalance_audit.shown_settings import without_credentials

FORMAT: Final = 1


class WatchCursor:
    """For each group its last reported rebalance; it grows with the number of groups."""

    def __init__(self, file: Path, source: str, since_ms: int) -> None:
        """Read the file if it is there. `since_ms`: rebalances that ended before are not reported, if it is new.

        Raises BadRequest for a file of something else or of another source, and OSError.
        """
        self._file = file
        self._source = without_credentials(source)
        self.since_ms = since_ms
        """That of the first start (epoch ms)."""
        self._last: dict[str, list[int]] = {}
        """Group -> when the rebalance ended (epoch ms), its last epoch, checksum of what was compared."""
        if file.exists():
            self._read()

    def _read(self) -> None:
        try:
            source, self.since_ms, self._last = _fields(self._file.read_bytes())
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequest(
                f"{self._file} is not a file that this watch wrote; name another one, or remove it."
            ) from error
        if source != self._source:
            raise BadRequest(f"{self._file} is of another source, {source}; name another file.")

    def unreported(self, updates: list[GroupUpdate]) -> list[GroupUpdate]:
        """The updates without the rebalances that were already reported unchanged."""
        return [group._replace(ended=self._of_group(group)) for group in updates]

    def _of_group(self, group: GroupUpdate) -> list[tuple[dict[str, Any], int]]:
        *last, checksum = self._last.get(group.group_id, (-1, -1, 0))
        found = []
        for row, times in group.ended:
            place = _place(row)
            if place > last or times:
                found.append((row, times))
            elif place == last and _checksum(row) != checksum:
                found.append((row, 1))
        return found

    def keep(self, updates: list[GroupUpdate]) -> None:
        """Note what was reported; the file is complete at any time. Raises OSError."""
        for group in updates:
            for row, _ in group.ended:
                if _place(row) >= self._last.get(group.group_id, [])[:2]:
                    self._last[group.group_id] = [*_place(row), _checksum(row)]
        if any(group.ended for group in updates) or not self._file.exists():
            held = {
                "format": FORMAT,
                "source": self._source,
                "since_ms": self.since_ms,
                "last": self._last,
            }
            write_file(orjson.dumps(held), self._file)


def _fields(document: bytes) -> tuple[str, int, dict[str, list[int]]]:
    held = orjson.loads(document)
    if held["format"] != FORMAT:
        raise ValueError(held["format"])
    return held["source"], held["since_ms"], held["last"]


def _place(row: dict[str, Any]) -> list[int]:
    return [row["ended_at"] or 0, row["last_epoch"] or 0]


def _checksum(row: dict[str, Any]) -> int:
    """Of all but its number, which counts from where the log begins."""
    compared = {name: value for name, value in row.items() if name != "rebalance_seq"}
    return zlib.crc32(repr(sorted(compared.items())).encode())
