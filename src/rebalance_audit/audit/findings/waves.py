"""Deploys: most members go and others come; and what other settings would have saved."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.causes.cause import RebalanceCause
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.findings.ending import Ending
from rebalance_audit.audit.findings.finding import Severity, spell_ms
from rebalance_audit.audit.findings.watcher import (
    Scene,
    Trail,
    Watcher,
    truly_changed,
)
from rebalance_audit.audit.group.epoch_span import EpochSpan
from rebalance_audit.audit.members import Stint
from rebalance_audit.audit.rows import Row
from rebalance_audit.replay.changes import GroupType, Position

COOPERATIVE_MARK = "cooperative"
KILLED = frozenset(
    {
        RebalanceCause.MEMBER_SESSION_EXPIRED.text,
        RebalanceCause.STATIC_MEMBER_EXPIRED.text,
        RebalanceCause.MEMBER_REBALANCE_TIMEOUT.text,
    }
)
PAIRED_LEAST = 1_000
"""Departures of a wave that may wait for a return, or twice the group's members if more; others are only counted."""


@dataclass(slots=True)
class _Wave:
    began: Position
    members_before: int
    last_ms: int
    came: int = 0
    went: int = 0
    killed: int = 0
    """Departures that were no leave: a return before the session expires would have been refused."""
    newcomers: set[str] = field(default_factory=set)
    static: int = 0
    """Number of arrivals with an instance id."""
    gone: dict[str, deque[tuple[int, int | None]]] = field(default_factory=dict)
    """Client id -> (epoch ms, session timeout in ms) of its departures that are not paired yet."""
    kept: int = 0
    restarts: int = 0
    """Departures with a later arrival of the same client id."""
    in_time: int = 0
    """Number of restarts that took no longer than the session timeout."""
    told: bool = True
    """Whether the log holds all of these session timeouts."""
    trail: Trail = field(default_factory=Trail)
    epochs: int = 0
    rebalances: int = 0
    last_rebalance_seq: int = -1
    partitions_moved: int = 0
    unowned_partition_ms: int = 0
    eager_epochs: int = 0
    eager_partitions: int = 0
    eager_stayed: int = 0


class DeployWave(Watcher):
    """Follows bursts of departures and arrivals."""

    kind = "deploy_wave"
    definition = (
        "At least {wave_share_percent} % of the members, and at least {wave_members}, went and as many others "
        "came, each once and with never more than {wave_pause_ms} between one and the next: a deploy or a rolling "
        "restart."
    )
    severity = Severity.INFO
    advice = (
        "Give the members instance ids (group.instance.id) with a session timeout longer than a restart takes, "
        "and use a cooperative assignor or the consumer protocol, where the figures say that it would have "
        "helped."
    )

    _wave: _Wave | None

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._wave = None

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """Continue the wave, or begin one at a departure."""
        at_ms = position.record_timestamp_ms
        arrivals, departures = truly_changed(arrivals, departures)
        if not arrivals and not departures:
            return
        self._let_pass(at_ms)
        if self._wave is not None and any(
            row["member_id"] in self._wave.newcomers for row in departures
        ):
            self._close()  # a deploy replaces each member once: this is another one, or churn
        members = len(self.scene.life.watches)
        wave = self._wave
        if wave is None:
            before = members - len(arrivals) + len(departures)
            if before < self.rules.wave_members:
                return
            wave = self._wave = _Wave(position, before, at_ms)
        wave.last_ms = at_ms
        wave.trail.add(
            evidence_at(
                position, f"{len(departures)} went and {len(arrivals)} came; {members} members"
            )
        )
        for row in departures:
            wave.went += 1
            if row["protocol"] != GroupType.CLASSIC and row["left_how"] in KILLED:
                wave.killed += 1
                continue
            if wave.kept < max(PAIRED_LEAST, 2 * wave.members_before):
                wave.kept += 1
                waiting = wave.gone.setdefault(row["client_id"], deque())
                waiting.append((at_ms, row["session_timeout_ms"]))
        for stint in arrivals:
            wave.came += 1
            if len(wave.newcomers) < PAIRED_LEAST:
                wave.newcomers.add(stint.member_id)
            wave.static += stint.identity.instance_id is not None
            paired = wave.gone.get(stint.identity.client_id)
            if paired:
                gone_ms, session_ms = paired.popleft()
                wave.restarts += 1
                wave.told &= session_ms is not None
                timeout_ms = session_ms or self.rules.assumed_session_timeout_ms
                wave.in_time += at_ms - gone_ms <= timeout_ms

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """Add the cost of an epoch within the wave."""
        wave, at_ms = self._wave, span.first_position.record_timestamp_ms
        if wave is None or not wave.began.record_timestamp_ms <= at_ms:
            return
        if at_ms > wave.last_ms + self.rules.wave_pause_ms:
            return
        wave.epochs += 1
        wave.rebalances += span.rebalance_seq != wave.last_rebalance_seq
        wave.last_rebalance_seq = span.rebalance_seq
        wave.partitions_moved += span.partitions_moved or 0
        wave.unowned_partition_ms += span.unowned_partition_ms
        if (
            span.protocol == GroupType.CLASSIC
            and span.partitions
            and COOPERATIVE_MARK not in (span.assignor or "")
        ):
            wave.eager_epochs += 1
            wave.eager_partitions += span.partitions
            changed = (span.partitions_moved or 0) + (span.partitions_added or 0)
            wave.eager_stayed += max(0, span.partitions - changed)

    def ended(self, end: Ending) -> None:
        """The wave ends with the group or the log."""
        self._close()

    def _let_pass(self, now_ms: int) -> None:
        if self._wave is not None and now_ms - self._wave.last_ms > self.rules.wave_pause_ms:
            self._close()

    def _close(self) -> None:
        wave, self._wave = self._wave, None
        if wave is None:
            return
        replaced = min(wave.went, wave.came)
        if replaced < self.rules.wave_members:
            return
        if 100 * replaced < self.rules.wave_share_percent * wave.members_before:
            return
        took_ms = wave.last_ms - wave.began.record_timestamp_ms
        self.find(
            wave.began,
            wave.last_ms,
            f"{wave.went} members went and {wave.came} came within {spell_ms(took_ms)} in a group of "
            f"{wave.members_before}; it took {wave.epochs} epochs in {wave.rebalances} rebalances, moved "
            f"{wave.partitions_moved} partitions and left {spell_ms(wave.unowned_partition_ms)} of partition time "
            f"without owner{self._not_counted(wave)}.{self._static_savings(wave)}{self._cooperative_savings(wave)}",
            wave.trail.evidence(),
        )

    @staticmethod
    def _not_counted(wave: _Wave) -> str:
        if not wave.eager_epochs:
            return ""
        return " (join phases of classic generations, which the log does not hold, are not counted)"

    def _static_savings(self, wave: _Wave) -> str:
        if wave.static == wave.came:
            return " The members already have instance ids."
        if not wave.restarts:
            return (
                " No departure is followed by an arrival of the same client id, so what static membership would "
                "have saved is not known."
            )
        assumed = spell_ms(self.rules.assumed_session_timeout_ms)
        timeout = (
            "the members' session timeout"
            if wave.told
            else f"an assumed session timeout of {assumed}"
        )
        return (
            f" With static membership {wave.in_time} of {wave.restarts} restarts would have needed no rebalance "
            f"(assumption: each arrival is the restart of the client id's earliest departure, within {timeout})."
            f"{self._not_spared(wave)}"
        )

    @staticmethod
    def _not_spared(wave: _Wave) -> str:
        if not wave.killed:
            return ""
        return (
            f" {wave.killed} that were killed are not counted: until the session expires, the coordinator refuses "
            "the return of an instance id that did not leave."
        )

    @staticmethod
    def _cooperative_savings(wave: _Wave) -> str:
        if not wave.eager_epochs:
            return ""
        return (
            f" In its {wave.eager_epochs} eager generations {wave.eager_stayed} of {wave.eager_partitions} "
            "assignments kept their owner and would not have been stopped by a cooperative assignor (assumption: "
            "it would have assigned the same)."
        )
