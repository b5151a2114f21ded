"""Arguments of the jobs, from site, window and params."""

from collections.abc import Mapping
from typing import Any

from rebalance_audit_airflow.site import Site
from rebalance_audit_airflow.window import Window


def ingest(site: Site, window: Window, params: Mapping[str, Any]) -> list[str] | None:  # noqa: ARG001 - one shape for all
    """Everything that the source has: what is left for a later hour, Kafka may have compacted by then."""
    if not site.source:
        return None
    return ["--source", site.source, *_place(site)]


def ingest_named(site: Site, window: Window, params: Mapping[str, Any]) -> list[str] | None:  # noqa: ARG001
    """The one of the site's `sources` that the params name, if any; the site's own source is not used."""
    name = params.get("source")
    return None if name is None else ["--source", site.source_named(name), *_place(site)]


def audit(site: Site, window: Window, params: Mapping[str, Any]) -> list[str]:  # noqa: ARG001
    """What is new in bronze, of whatever time: an epoch of this hour may end in the next one."""
    return [*_place(site), *_groups(site)]


def audit_window(site: Site, window: Window, params: Mapping[str, Any]) -> list[str]:  # noqa: ARG001
    """The rows that begin in a window, made again from all of bronze."""
    return [*_place(site), *_groups(site), "--full", *window.flags()]


def check(site: Site, window: Window, params: Mapping[str, Any]) -> list[str]:  # noqa: ARG001
    """The rows that begin in the window."""
    return [*_place(site), *window.flags()]


def maintain(site: Site, window: Window, params: Mapping[str, Any]) -> list[str]:  # noqa: ARG001
    """What is kept for how long is in the site's configuration: a trigger deletes no more than that."""
    arguments = ["--lake", site.lake]
    for table in params.get("tables", ()):
        arguments += ["--table", table]
    return [*arguments, *(["--dry-run"] if params.get("dry_run") else [])]


def predict(site: Site, window: Window, params: Mapping[str, Any]) -> list[str]:  # noqa: ARG001
    """The groups that needed attention most in the window."""
    return [*_place(site), *window.flags()]


def report(site: Site, window: Window, params: Mapping[str, Any]) -> list[str]:
    """The days up to the end of the window that was audited."""
    days = params.get("days") or site.report_days
    return [*_place(site), "--out", site.page, *window.reaching_back(days).flags()]


def _place(site: Site) -> list[str]:
    return ["--lake", site.lake, "--cluster", site.cluster]


def _groups(site: Site) -> list[str]:
    return ["--groups", site.groups] if site.groups else []
