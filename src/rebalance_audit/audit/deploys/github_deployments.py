"""Deployments and deployment statuses of GitHub's REST API (`GET /repos/OWNER/REPO/deployments[/ID/statuses]`)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from rebalance_audit.audit.deploys import values
from rebalance_audit.audit.deploys.rollout import NAME_MAX, Rollout
from rebalance_audit.carriers.json_documents import Around

_URL_MAX: Final = 2_000
_SHA_SHOWN: Final = 12
_DEPLOYMENT: Final = frozenset({"sha", "environment", "created_at", "statuses_url"})
_STATUS: Final = frozenset({"state", "deployment_url", "created_at"})
_ENDS: Final = frozenset({"success", "failure", "error"})


class GitHubDeployments:
    """Deployments; a status in another file, or later in the same one, ends one."""

    def __init__(self) -> None:
        self._found: list[tuple[str | None, Rollout]] = []
        self._ended_ms: dict[str, int] = {}
        """URL of a deployment -> when its first final status was set."""

    def add(self, item: Mapping[str, Any], _file_stem: str, _around: Around) -> bool:
        """Whether it is a deployment or a status."""
        if item.keys() >= _STATUS:
            url = values.needed_text(item["deployment_url"], "deployment_url", _URL_MAX)
            ended_ms = values.needed_time(item, "created_at")
            if item["state"] in _ENDS:
                self._ended_ms[url] = min(ended_ms, self._ended_ms.get(url, ended_ms))
            return True
        if not item.keys() >= _DEPLOYMENT:
            return False
        repository = values.text(item.get("repository_url"), _URL_MAX) or ""
        deploy = Rollout(
            tool="github",
            workload=values.needed_text(repository.rpartition("/")[2], "repository", NAME_MAX),
            started_ms=values.needed_time(item, "created_at"),
            revision=values.cut(item["sha"], _SHA_SHOWN),
            environment=values.text(item["environment"], NAME_MAX),
        )
        self._found.append((values.text(item.get("url"), _URL_MAX), deploy))
        return True

    def deploys(self) -> Iterator[Rollout]:
        """Each deployment."""
        for url, deploy in self._found:
            yield replace(deploy, ended_ms=None if url is None else self._ended_ms.get(url))
