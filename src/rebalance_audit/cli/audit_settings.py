"""The part of the configuration that the audit of segments needs."""

import os
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.departures import DepartureRules
from rebalance_audit.audit.findings.rules import FindingRules
from rebalance_audit.cli.invocation import Invocation

_PREFIX: Final = "REBALANCE_AUDIT_"


class AuditSettings(NamedTuple):
    """Name of the cluster, times that the log does not hold, thresholds of findings, time zone of brokers' logs."""

    cluster: str
    rules: DepartureRules
    findings: FindingRules = FindingRules()
    broker_log_time_zone: str = "UTC"


DEFAULTS: Final = AuditSettings("default", DepartureRules())
"""As in `conf/base.toml`, to which a test holds them."""


def audit_settings(invocation: Invocation, cluster: str | None) -> AuditSettings:
    """The settings in force; `cluster` is the flag. Raises ConfigError.

    Where nobody configured anything these are the defaults, without the 0.3 s that loading the configuration takes.
    """
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
