"""A plain CSV of rollouts, for whatever no other reader knows: one row a rollout, or one row for each of its pods.

Columns: `name`, `revision`, `started_at`, `ended_at`, `namespace`, `environment`, `group`, `client`, `pod`, `pod_ip`,
`pod_created_at`, `pod_deleted_at`. Only `name` and `started_at` must be there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from rebalance_audit.audit.deploys import values
from rebalance_audit.audit.deploys.rollout import NAME_MAX, REVISION_MAX, Pod, Rollout
from rebalance_audit.carriers.json_documents import Around
from rebalance_audit.written_times import time_of

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
        name = values.text(item["name"], NAME_MAX)
        started_ms = time_of(item["started_at"])
        if name is not None and started_ms is not None:
            deploy = Rollout(
                tool="csv",
                workload=name,
                started_ms=started_ms,
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
                pods.append(
                    Pod(
                        pod,
                        time_of(item.get("pod_created_at")),
                        time_of(item.get("pod_deleted_at")),
                        values.address(item.get("pod_ip")),
                    )
                )
        return True

    def deploys(self) -> Iterator[Rollout]:
        """Each rollout with its pods."""
        for deploy, pods in self._pods.items():
            yield replace(deploy, pods=tuple(pods))
