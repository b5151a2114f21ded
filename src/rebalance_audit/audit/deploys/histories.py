"""What tools that deploy record about it: Argo CD, Helm and GitHub, as JSON; and a plain CSV for all others.

The CSV has one row a rollout, or one row for each of its pods. Columns: `name`, `revision`, `started_at`, `ended_at`,
`namespace`, `environment`, `group`, `client`, `pod`, `pod_ip`, `pod_created_at`, `pod_deleted_at`. Only `name` and
`started_at` must be there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from rebalance_audit.audit.deploys import values
from rebalance_audit.audit.deploys.rollout import NAME_MAX, REVISION_MAX, Pod, Rollout
from rebalance_audit.carriers.json_documents import Around
from rebalance_audit.written_times import time_of

_SERVER_MAX: Final = 253
_OWN_CLUSTER: Final = "https://kubernetes.default.svc"
"""The cluster in which Argo CD runs."""


class _Found:
    """Keeps a rollout for each item that shows one."""

    def __init__(self) -> None:
        self._found: list[Rollout] = []

    def deploys(self) -> Iterator[Rollout]:
        """Each of them."""
        yield from self._found


class ArgoCdHistory(_Found):
    """Syncs of applications (`argocd app get APP -o json`, `kubectl get applications -o json`): `status.history`.

    `deployedAt` is when the manifests were applied, not when the pods were ready, so no end is known.
    """

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
        server = values.text(target.get("server"), _SERVER_MAX)
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


def _revision(sync: Mapping[str, Any]) -> str | None:
    """Of an application with several sources the first."""
    several = sync.get("revisions")
    first = several[0] if isinstance(several, list) and several else None
    return values.cut(sync.get("revision") or first, REVISION_MAX)


_REVISION = frozenset({"revision", "updated", "status", "chart"})


class HelmHistory(_Found):
    """Revisions of releases (`helm history RELEASE -o json`, `helm list -o json`: `pkg/cmd/history.go`, `list.go`).

    Helm records when a revision was applied, and no end. A history does not name its release: the file's name does.
    """

    def add(self, item: Mapping[str, Any], file_stem: str, _around: Around) -> bool:
        """Whether it is a revision. `file_stem`: the file's name without its ending."""
        if not item.keys() >= _REVISION:
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


_URL_MAX: Final = 2_000
_SHA_SHOWN: Final = 12
_DEPLOYMENT: Final = frozenset({"sha", "environment", "created_at", "statuses_url"})
_STATUS: Final = frozenset({"state", "deployment_url", "created_at"})
_ENDS: Final = frozenset({"success", "failure", "error"})


class GitHubDeployments:
    """Deployments and their statuses (GitHub's REST API: `GET /repos/OWNER/REPO/deployments[/ID/statuses]`).

    A status in another file, or later in the same one, ends a deployment.
    """

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


NEEDED: Final = ("name", "started_at")
COLUMNS: Final = (
    *NEEDED,
    "revision",
    "ended_at",
    "namespace",
    "environment",
    "group",
    "client",
    "pod",
    "pod_ip",
    "pod_created_at",
    "pod_deleted_at",
)
_PATTERN_MAX: Final = 512
_TEXTS: Final = ("name", "revision", "namespace", "environment", "group", "client", "pod", "pod_ip")
_TIMES: Final = ("started_at", "ended_at", "pod_created_at", "pod_deleted_at")


def fault_of(row: Mapping[str, Any]) -> str | None:
    """Why a row of a CSV cannot be used; None if it can. Skipped, its rollout would seem to have cost nothing."""
    if values.text(row["name"], NAME_MAX) is None:
        return f"name is empty or longer than {NAME_MAX} characters"
    for column in _TEXTS:
        value = row.get(column)
        if not isinstance(value, str | int | None) or isinstance(value, bool):
            # Left out, a pattern would stand for every group.
            return f"{column} is {values.quote_value(value)}, not a text"
    for column in _TIMES:
        value = row.get(column)
        written = value.strip() if isinstance(value, str) else value
        if (written not in (None, "") or column in NEEDED) and time_of(written) is None:
            return f"{column} is {values.quote_value(written)}, not a time of 2000 to 2099"
    started_ms, ended_ms = time_of(row["started_at"]), time_of(row.get("ended_at"))
    if started_ms is not None and ended_ms is not None and ended_ms < started_ms:
        return "ended_at is before started_at"
    return None


class CsvRows:
    """Rows that are equal but for the pod are one rollout."""

    def __init__(self) -> None:
        self._pods: dict[Rollout, list[Pod]] = {}

    def add(self, item: Mapping[str, Any], _file_stem: str, _around: Around) -> bool:
        """Whether it is such a row. A row of JSON may have the same keys."""
        if not item.keys() >= set(NEEDED) or not item.keys() <= set(COLUMNS):
            return False
        wrong = fault_of(item)
        if wrong is not None:
            raise values.ItemError(wrong)
        deploy = Rollout(
            tool="csv",
            workload=values.needed_text(item["name"], "name", NAME_MAX),
            started_ms=values.needed_time(item, "started_at"),
            revision=values.cut(item.get("revision"), REVISION_MAX),
            namespace=values.text(item.get("namespace"), NAME_MAX),
            environment=values.text(item.get("environment"), NAME_MAX),
            ended_ms=time_of(item.get("ended_at")),
            group_pattern=values.text(item.get("group"), _PATTERN_MAX),
            client_pattern=values.text(item.get("client"), _PATTERN_MAX),
        )
        pods = self._pods.setdefault(deploy, [])
        pod = values.text(item.get("pod"), NAME_MAX)
        if pod is not None:
            created_ms = time_of(item.get("pod_created_at"))
            deleted_ms = time_of(item.get("pod_deleted_at"))
            pods.append(Pod(pod, created_ms, deleted_ms, values.address(item.get("pod_ip"))))
        return True

    def deploys(self) -> Iterator[Rollout]:
        """Each rollout with its pods."""
        for deploy, pods in self._pods.items():
            yield replace(deploy, pods=tuple(pods))
