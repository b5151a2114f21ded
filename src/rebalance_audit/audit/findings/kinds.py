"""The closed list of findings, in the order in which readers want them."""

from collections.abc import Sequence

from rebalance_audit.audit.findings import (
    assignments,
    handovers,
    log_events,
    of_broker_logs,
    of_commits,
    progress,
    restarts,
    stalls,
    standstills,
    storms,
    subscriptions,
    waves,
)
from rebalance_audit.audit.findings.finding import FindingKind, Severity
from rebalance_audit.audit.findings.watcher import Watcher


class SourcesDiffer(FindingKind):
    """Two copies that are not from the same log, or a damaged copy."""

    kind = "sources_differ"
    definition = (
        "Two sources of one cluster have different bytes for one offset. The record ingested first "
        "is in bronze and was audited; the other is kept in `silver.quarantine`. "
        "One finding for each partition and source."
    )
    severity = Severity.WARNING


WATCHERS: Sequence[type[Watcher]] = (
    progress.StuckGroup,
    assignments.TwoOwners,
    assignments.LostPartition,
    handovers.RecordsLost,
    handovers.RecordsSkipped,
    subscriptions.StaticSubscriptionIgnored,
    restarts.InstanceIdConflict,
    of_broker_logs.InstanceIdRefused,
    of_broker_logs.CoordinatorTrouble,
    storms.RebalanceStorm,
    storms.RebalanceLoop,
    restarts.FlappingMember,
    storms.SessionExpiries,
    standstills.SilentMember,
    standstills.CommitsStopped,
    stalls.StalledWithLag,
    stalls.CommittedBeyondEnd,
    handovers.CommittedWithoutMembers,
    handovers.BackwardCommit,
    handovers.CommitWithoutOwnership,
    stalls.CommitFlood,
    progress.SlowRevoker,
    progress.RevokerBlocked,
    progress.SlowMember,
    progress.SlowSync,
    progress.EpochWithoutTarget,
    subscriptions.EagerCooperative,
    subscriptions.HalfFinishedMigration,
    subscriptions.Downgrade,
    log_events.CoordinatorMoved,
    log_events.GroupNotServed,
    waves.DeployWave,
    assignments.UnstickyAssignment,
    assignments.UnbalancedAssignment,
    subscriptions.RegexesAlike,
    log_events.LogGap,
    of_broker_logs.BrokerLogContradiction,
    log_events.DeadGroup,
)
"""Kinds found in a group's records."""
OF_COMMITS: Sequence[type[FindingKind]] = (of_commits.HangingTransaction, of_commits.TopicGrowth)
"""Kinds found by counting all records, and by following transactions."""
OF_SOURCES: Sequence[type[FindingKind]] = (SourcesDiffer,)
"""Kinds found in a lake, by comparing sources."""
KINDS: Sequence[type[FindingKind]] = (*WATCHERS, *OF_COMMITS, *OF_SOURCES)
