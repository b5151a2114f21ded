"""`helm history RELEASE -o json` and `helm list -o json` (`pkg/cmd/history.go`, `list.go`).

Helm records when a revision was applied, and no end. A history does not name its release: the file's name does.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rebalance_audit.audit.deploys import values
from rebalance_audit.audit.deploys.rollout import NAME_MAX, REVISION_MAX, Rollout
from rebalance_audit.carriers.json_documents import Around

_FIELDS = frozenset({"revision", "updated", "status", "chart"})


class HelmHistory:
    """Revisions of releases."""

    def __init__(self) -> None:
        self._found: list[Rollout] = []

    def add(self, item: Mapping[str, Any], file_stem: str, _around: Around) -> bool:
        """Whether it is a revision. `file_stem`: the file's name without its ending."""
        if not item.keys() >= _FIELDS:
            return False
        release = values.text(item.get("name"), NAME_MAX) or file_stem
        self._found.append(
            Rollout(
                tool="helm",
                workload=values.needed_text(release, "name", NAME_MAX),
                started_ms=values.needed_time(item, "updated"),
                revision=values.cut(item.get("revision"), REVISION_MAX),
                namespace=values.text(item.get("namespace"), NAME_MAX),
            )
        )
        return True

    def deploys(self) -> Iterator[Rollout]:
        """Each revision."""
        yield from self._found
