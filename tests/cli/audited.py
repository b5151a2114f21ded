"""Audits that several tests, or several commands of a test, look at."""

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from rebalance_audit.local.audit import Audit, audit_segments


def audited_once(
    path: str | Path,
    groups: Collection[str] = (),
    broker_logs: Collection[str | Path] = (),
    **settings: Any,
) -> Audit:
    """`audit_segments` of a log that does not change."""
    return _audited(str(path), tuple(groups), tuple(map(str, broker_logs)), **settings)


@cache
def _audited(
    path: str, groups: tuple[str, ...], broker_logs: tuple[str, ...], **settings: Any
) -> Audit:
    return audit_segments(path, groups, broker_logs, **settings)
