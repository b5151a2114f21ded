"""What ties a rebalance to a rollout, and how certain that is."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from rebalance_audit.audit.deploys.rollout import Rollout

GoldRow: TypeAlias = Mapping[str, Any]


class TieCertainty(StrEnum):
    """How certain it is that a rebalance belongs to a rollout."""

    PROVEN = "proven"
    LIKELY = "likely"
    DURING = "during"


class MatchedBy(StrEnum):
    """What connects a member and a rollout."""

    POD_NAME = "pod_name"
    """Its client id or instance id contains the pod's name."""
    POD_ADDRESS = "pod_address"
    """Its host is the pod's address."""
    WORKLOAD_NAME = "workload_name"
    """Its client id or instance id is like those of the workload's pods."""
    FILE = "file"
    """The file says which groups or clients the rollout is about."""
    TIME = "time"
    """Nothing but the time."""


class TieEvidence(NamedTuple):
    """What ties a rebalance to a rollout."""

    matched_by: MatchedBy
    member_id: str | None = None
    change: str | None = None
    """`joined`, `left` or `replaced`."""
    at_ms: int | None = None
    """When the member did, by the clock of the broker."""
    pod: str | None = None
    pod_change: str | None = None
    """`created` or `deleted`."""
    pod_at_ms: int | None = None
    """When the pod was, by the clock of its cluster."""


class Tie(NamedTuple):
    """A rebalance, and a rollout to which it belongs."""

    deploy: Rollout
    certainty: TieCertainty
    rebalance: GoldRow
    evidence: tuple[TieEvidence, ...]
