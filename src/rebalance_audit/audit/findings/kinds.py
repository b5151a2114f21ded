"""The closed list of findings, in the order in which readers want them."""

from collections.abc import Sequence

from rebalance_audit.audit.findings.assignments import (
    LostPartition,
    TwoOwners,
)
from rebalance_audit.audit.findings.finding_kind import FindingKind
from rebalance_audit.audit.findings.handovers import (
    BackwardCommit,
    CommittedWithoutMembers,
    CommitWithoutOwnership,
    RecordsLost,
    RecordsSkipped,
)
from rebalance_audit.audit.findings.log_events import CoordinatorMoved, DeadGroup, LogGap
from rebalance_audit.audit.findings.of_broker_logs import (
    BrokerLogContradiction,
    CoordinatorTrouble,
    InstanceIdRefused,
)
from rebalance_audit.audit.findings.of_commits import HangingTransaction, TopicGrowth
from rebalance_audit.audit.findings.of_sources import SourcesDiffer
from rebalance_audit.audit.findings.progress import (
    EpochWithoutTarget,
    RevokerBlocked,
    SlowMember,
    SlowRevoker,
    SlowSync,
    StuckGroup,
)
from rebalance_audit.audit.findings.protocols import Downgrade, HalfFinishedMigration
from rebalance_audit.audit.findings.restarts import FlappingMember, InstanceIdConflict
from rebalance_audit.audit.findings.shares import UnbalancedAssignment, UnstickyAssignment
from rebalance_audit.audit.findings.silences import GroupNotServed, SessionExpiries
from rebalance_audit.audit.findings.stalls import CommitFlood, CommittedBeyondEnd, StalledWithLag
from rebalance_audit.audit.findings.standstills import CommitsStopped, SilentMember
from rebalance_audit.audit.findings.storms import RebalanceLoop, RebalanceStorm
from rebalance_audit.audit.findings.subscriptions import (
    EagerCooperative,
    RegexesAlike,
    StaticSubscriptionIgnored,
)
from rebalance_audit.audit.findings.watcher import Watcher
from rebalance_audit.audit.findings.waves import DeployWave

WATCHERS: Sequence[type[Watcher]] = (
    StuckGroup,
    TwoOwners,
    LostPartition,
    RecordsLost,
    RecordsSkipped,
    StaticSubscriptionIgnored,
    InstanceIdConflict,
    InstanceIdRefused,
    CoordinatorTrouble,
    RebalanceStorm,
    RebalanceLoop,
    FlappingMember,
    SessionExpiries,
    SilentMember,
    CommitsStopped,
    StalledWithLag,
    CommittedBeyondEnd,
    CommittedWithoutMembers,
    BackwardCommit,
    CommitWithoutOwnership,
    CommitFlood,
    SlowRevoker,
    RevokerBlocked,
    SlowMember,
    SlowSync,
    EpochWithoutTarget,
    EagerCooperative,
    HalfFinishedMigration,
    Downgrade,
    CoordinatorMoved,
    GroupNotServed,
    DeployWave,
    UnstickyAssignment,
    UnbalancedAssignment,
    RegexesAlike,
    LogGap,
    BrokerLogContradiction,
    DeadGroup,
)
"""Kinds found in a group's records."""
OF_COMMITS: Sequence[type[FindingKind]] = (HangingTransaction, TopicGrowth)
"""Kinds found by counting all records, and by following transactions."""
OF_SOURCES: Sequence[type[FindingKind]] = (SourcesDiffer,)
"""Kinds found in a lake, by comparing sources."""
KINDS: Sequence[type[FindingKind]] = (*WATCHERS, *OF_COMMITS, *OF_SOURCES)
