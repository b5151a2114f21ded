"""The file that remembers which findings a webhook took, and which it refused."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rebalance_audit.audit.rows import Row
from rebalance_audit.errors import BadRequest
from rebalance_audit.new_file import replacing

_FORMAT: Final = 1


@dataclass(slots=True)
class SentFindings:
    """What one webhook took and refused, by the finding's id."""

    file: Path
    went_on: dict[str, bool] = field(default_factory=dict)
    """Of findings that it took, or that had ended before the first call: whether each was ongoing then."""
    refused: dict[str, str] = field(default_factory=dict)
    """Of findings that are not sent again: why."""
    failures: dict[str, int] = field(default_factory=dict)
    """Of findings that are still due: how many calls could not deliver them. Those go last."""
    is_new: bool = False
    """Whether there was no file yet."""

    @classmethod
    def read(cls, file: Path) -> "SentFindings":
        """The content of the file. Raises BadRequest for a file that is none of ours, and OSError."""
        if not file.exists():
            return cls(file, is_new=True)
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
            if known["format"] != _FORMAT:
                raise BadRequest(f"{file} was written by another release.")
            refused, failures = (dict(known.get(name, {})) for name in ("refused", "failures"))
            return cls(file, dict(known["went_on"]), refused, failures)
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequest(f"{file} is no list of sent findings.") from error

    def take(self, finding: Row) -> None:
        """Note a finding that was taken, on disk before this returns. Raises OSError."""
        self.failures.pop(finding["finding_id"], None)
        self.went_on[finding["finding_id"]] = finding["to_at"] is None
        self.write()

    def refuse(self, finding: Row, why: str) -> None:
        """Note a finding that is not sent again. Raises OSError."""
        self.failures.pop(finding["finding_id"], None)
        self.refused[finding["finding_id"]] = why
        self.write()

    def fail(self, finding: Row) -> None:
        """Note a finding that is sent again by the next call, after the others. Raises OSError."""
        self.failures[finding["finding_id"]] = self.failures.get(finding["finding_id"], 0) + 1
        self.write()

    def write(self) -> None:
        """Replace the file. Raises OSError."""
        content = {
            "format": _FORMAT,
            "went_on": self.went_on,
            "refused": self.refused,
            "failures": self.failures,
        }
        with replacing(self.file) as new:
            new.write_text(json.dumps(content), "utf-8")
