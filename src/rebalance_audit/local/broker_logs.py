"""Reads the brokers' logs that an audit is given."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.errors import UnknownTimeZone
from rebalance_audit.time_zones import zone_of


def read_broker_logs(
    paths: Collection[Path],
    time_zone: str,
    group_ids: Iterable[str] = (),
    near_ms: int | None = None,
) -> BrokerLog | None:
    """What the files say, by their own clocks, of all groups or of `group_ids`; None without files.

    `time_zone`, as `Europe/Berlin` or `+02:00`, is that of lines that name none. `near_ms`: about when the logs were
    written (epoch ms); lines whose date has no year are not used without it. Raises SourceNotReadable for a file that
    cannot be read, and UnknownTimeZone.
    """
    if not paths:
        return None
    try:
        zone = zone_of(time_zone)
    except ValueError as error:
        raise UnknownTimeZone(f"{error}.") from error
    reader = LogReader(zone, time_zone, near_ms)
    facts = reader.facts(paths)
    wanted = frozenset(group_ids)
    if wanted:
        facts = (fact for fact in facts if fact.group_id is None or fact.group_id in wanted)
    log = BrokerLog.of(facts, time_zone)
    return replace(log, files=tuple(reader.reports))
