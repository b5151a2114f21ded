"""The part of the configuration that the audit of segments needs."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.audit.finding_rules import FindingRules
from rebalance_audit.audit.options import DepartureRules
from rebalance_audit.cli.invocation import Invocation

_PREFIX: Final = "REBALANCE_AUDIT_"


class AuditSettings(NamedTuple):
    """What `audit_segments` takes by keyword."""

    cluster: str
    departure_rules: DepartureRules = DepartureRules()
    finding_rules: FindingRules = FindingRules()
    broker_log_time_zone: str = "UTC"
    end_offsets: tuple[Path, ...] = ()
    deploys: tuple[Path, ...] = ()


DEFAULTS: Final = AuditSettings("default")
"""As in `conf/base.toml`, to which a test holds them."""


def audit_settings(
    invocation: Invocation,
    cluster: str | None,
    broker_log_zone: str | None = None,
    end_offsets: tuple[Path, ...] = (),
    deploys: tuple[Path, ...] = (),
) -> AuditSettings:
    """The settings in force; all arguments but the first are flags. Raises ConfigError.

    Without any configuration these are the defaults, without the 0.3 s that loading the configuration takes.
    """
    settings = _configured(invocation, cluster)
    return settings._replace(
        broker_log_time_zone=broker_log_zone or settings.broker_log_time_zone,
        end_offsets=end_offsets,
        deploys=deploys,
    )


def _configured(invocation: Invocation, cluster: str | None) -> AuditSettings:
    configured = any(variable.upper().startswith(_PREFIX) for variable in os.environ)
    if not (configured or invocation.config_file or invocation.print_config):
        return DEFAULTS._replace(cluster=cluster or DEFAULTS.cluster)
    config = invocation.config({"cluster": cluster})
    return AuditSettings(
        config.cluster,
        config.audit.departure_rules(),
        config.findings.finding_rules(),
        config.audit.broker_log_time_zone,
    )
