"""Applications of Argo CD (`argocd app get APP -o json`, `kubectl get applications -o json`): `status.history`.

`deployedAt` is when the manifests were applied, not when the pods were ready, so no end is known.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rebalance_audit.audit.deploys import values
from rebalance_audit.audit.deploys.rollout import NAME_MAX, REVISION_MAX, Rollout
from rebalance_audit.carriers.json_documents import Around
from rebalance_audit.written_times import time_of

_URL_MAX: Final = 253
_OWN_CLUSTER: Final = "https://kubernetes.default.svc"
"""The cluster in which Argo CD runs."""


class ArgoCdHistory:
    """Syncs of applications."""

    def __init__(self) -> None:
        self._found: list[Rollout] = []

    def add(self, item: Mapping[str, Any], _file_stem: str, _around: Around) -> bool:
        """Whether it is an Application."""
        status = values.mapping(item.get("status"))
        if item.get("kind") != "Application" and not isinstance(status.get("history"), list):
            return False
        application = values.needed_text(
            values.mapping(item.get("metadata")).get("name"), "metadata.name", NAME_MAX
        )
        target = values.mapping(values.mapping(item.get("spec")).get("destination"))
        wrong: values.ItemError | None = None
        server = values.text(target.get("server"), _URL_MAX)
        for sync in values.items(status.get("history")):
            try:
                applied_ms = values.needed_time(sync, "deployedAt")
            except values.ItemError as error:
                wrong = wrong or error
                continue
            self._found.append(
                Rollout(
                    tool="argo_cd",
                    workload=application,
                    started_ms=time_of(sync.get("deployStartedAt")) or applied_ms,
                    revision=_revision(sync),
                    namespace=values.text(target.get("namespace"), NAME_MAX),
                    environment=values.text(target.get("name"), NAME_MAX)
                    or (None if server == _OWN_CLUSTER else server),
                    last_seen_ms=applied_ms,
                )
            )
        if wrong is not None:
            raise wrong
        return True

    def deploys(self) -> Iterator[Rollout]:
        """Each sync."""
        yield from self._found


def _revision(sync: Mapping[str, Any]) -> str | None:
    """Of an application with several sources the first."""
    several = sync.get("revisions")
    first = several[0] if isinstance(several, list) and several else None
    return values.cut(sync.get("revision") or first, REVISION_MAX)
