"""Applications of Argo CD (`argocd app get APP -o json`, `kubectl get applications -o json`): `status.history`.

`deployedAt` is when the manifests were applied, not when the pods were ready, so no end is known.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rebalance_audit.audit.deploys import values
from rebalance_audit.audit.deploys.rollout import NAME_MAX, REVISION_MAX, Rollout


class ArgoCdHistory:
    """Syncs of applications."""

    def __init__(self) -> None:
        self._found: list[Rollout] = []

    def add(self, item: Mapping[str, Any], _file_stem: str) -> bool:
        """Whether it is an Application."""
        status = values.mapping(item.get("status"))
        if item.get("kind") != "Application" and not isinstance(status.get("history"), list):
            return False
        application = values.text(values.mapping(item.get("metadata")).get("name"), NAME_MAX)
        if application is not None:
            spec = values.mapping(item.get("spec"))
            namespace = values.mapping(spec.get("destination")).get("namespace")
            for sync in values.items(status.get("history")):
                applied_ms = values.time_ms(sync.get("deployedAt"))
                started_ms = values.time_ms(sync.get("deployStartedAt")) or applied_ms
                if started_ms is not None:
                    self._found.append(
                        Rollout(
                            tool="argo_cd",
                            workload=application,
                            started_ms=started_ms,
                            revision=_revision(sync),
                            namespace=values.text(namespace, NAME_MAX),
                            last_seen_ms=applied_ms,
                        )
                    )
        return True

    def deploys(self) -> Iterator[Rollout]:
        """Each sync."""
        yield from self._found


def _revision(sync: Mapping[str, Any]) -> str | None:
    """Of an application with several sources the first."""
    several = sync.get("revisions")
    first = several[0] if isinstance(several, list) and several else None
    return values.cut(sync.get("revision") or first, REVISION_MAX)
