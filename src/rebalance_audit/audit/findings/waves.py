"""Deploys: most members go and others come; and what other settings would have saved."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_audit import limits
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import Ending, Severity
from rebalance_audit.audit.findings.watcher import (
    Scene,
    Trail,
    Watcher,
    truly_changed,
)
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.members.tally import deployment_of, deployment_of_row
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.bounds import NOTHING, UNBOUNDED, Bounds
from rebalance_audit.replay.changes import GroupType, Position
from rebalance_audit.sentences.reason import CodedReason, because

COOPERATIVE_MARK = "cooperative"
KILLED = frozenset(
    {
        RebalanceCause.MEMBER_SESSION_EXPIRED.text,
        RebalanceCause.STATIC_MEMBER_EXPIRED.text,
        RebalanceCause.MEMBER_REBALANCE_TIMEOUT.text,
    }
)
_FOLLOW_UPS = frozenset({RebalanceCause.COOPERATIVE_FOLLOW_UP, RebalanceCause.ASSIGNMENT_ONLY})
NO_RESTART = frozenset({*KILLED, RebalanceCause.MEMBER_REMOVED_BY_ADMIN.text})
"""Departures after which a static member's return comes too late, or is none."""
PAIRED_LEAST = 1_000
"""Departures of a wave that may wait for a return, or twice the group's members if more; others are only counted."""
MIXED_LEAST = 10
"""Departures of a deploy for each one that is a kill, unless all are: a process may not stop in time."""
WAVES_MAX = limits.DEPLOYMENTS.most
"""Deployments of one group followed at once; beyond that the one quiet for longest is forgotten, to bound memory and
the cost of each epoch."""
QUIET_FACTOR = 3
"""A deploy stands out: before and after it is quiet for so many times the longest pause within it."""


ROLLOUTS_MAX = 100
"""Past rollouts of a group that are remembered, the latest."""


class WaveTimes(NamedTuple):
    """A deploy, or what has happened of one so far."""

    deployment: str
    from_ms: int
    to_ms: int
    epochs: int
    killed: int
    """Departures that were no leave."""

    def share(self, number: int, from_ms: int, to_ms: int) -> int:
        """Its part of a number that counts what happened in it, between two times (epoch ms)."""
        both_ms = min(self.to_ms, to_ms) - max(self.from_ms, from_ms)
        return number * both_ms // max(1, self.to_ms - self.from_ms)


@dataclass(slots=True)
class _Wave:
    """The changes among the members of one deployment since it was last quiet."""

    began: Position
    members_before: int
    last_ms: int
    quiet_before_ms: int | None
    """Since the deployment's last change before this one; None if the log has none."""
    is_churn: bool = False
    """It follows at once on members that came and went, or more than half were missing: no deploy but for a round."""
    longest_ms: int = 0
    """Longest pause between two changes."""
    in_turn: bool = True
    """Every departure so far was a leave, and at no time was more than one member missing or too many."""
    came: int = 0
    went: int = 0
    killed: int = 0
    """Departures that were no leave."""
    newcomers: set[str] = field(default_factory=set)
    static: int = 0
    """Number of arrivals with an instance id."""
    gone: dict[str, deque[tuple[int, int | None, bool]]] = field(default_factory=dict)
    """Client id -> (epoch ms, session timeout in ms, whether it was a leave) of departures that are not paired yet."""
    kept: int = 0
    restarts: int = 0
    """Departures, none of them a kill, with a later arrival of the same client id."""
    in_time: int = 0
    """Number of restarts that took no longer than the session timeout."""
    perhaps_in_time: int = 0
    """The same, of departures that may have been kills."""
    timeouts_are_known: bool = True
    """Whether the log holds all of these session timeouts."""
    trail: Trail = field(default_factory=Trail)
    epochs: int = 0
    rebalances: int = 0
    last_rebalance_seq: int = -1
    partitions_moved: int = 0
    unowned: Bounds = NOTHING
    """Partition time without owner."""
    owns_partitions: bool = True
    """False where the group's members are no consumers."""
    eager_epochs: int = 0
    eager_partitions: int = 0
    eager_stayed: int = 0

    @property
    def is_round(self) -> bool:
        """Every member left and was replaced before or after the next one left: what crashes hardly ever look like."""
        return self.in_turn and self.went == self.came == self.members_before

    @property
    def stands_out(self) -> bool:
        """Whether it was quiet for long enough before."""
        quiet_ms = self.quiet_before_ms
        return not self.is_churn and (
            quiet_ms is None or quiet_ms >= QUIET_FACTOR * self.longest_ms
        )


class DeployWave(Watcher):
    """Follows each deployment of the group from one quiet time to the next."""

    kind = "deploy_wave"
    is_of_subject = True
    definition = (
        "At least {wave_share_percent} % of the members of one deployment, and at least {wave_members}, "
        "went and as many came, each once and never more than half of them at a time, with never more than "
        "{wave_pause_ms} between one and the next, and none in as long a time before and after, nor in three"
        " times the longest of these pauses: a deploy or a rolling restart. Some kills among many leaves make"
        " it none. Without such quiet it is one if every member left, one at a time, and had its successor "
        "before the next one left or right after. Members are one deployment if their"
        " client ids (instance ids of static members) are alike up to the first part with a digit; records "
        "show no more."
    )
    severity = Severity.INFO

    _waves: dict[str, _Wave] = field(default_factory=dict)
    """Deployment -> its changes since it was last quiet, the one quiet for longest first."""
    _rollouts: deque[WaveTimes] = field(default_factory=lambda: deque(maxlen=ROLLOUTS_MAX))
    """Those of the last hour or so, in which series that are not over can lie."""
    _changed_ms: dict[str, int] = field(default_factory=dict)
    """Deployment without a wave -> when it last changed (epoch ms), the one quiet for longest first."""

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """Continue the waves of these members' deployments, or begin them."""
        arrivals, departures = truly_changed(arrivals, departures)
        self._let_pass(position.record_timestamp_ms)
        came: defaultdict[str, list[Stint]] = defaultdict(list)
        for stint in arrivals:
            came[deployment_of(stint.identity)].append(stint)
        went: defaultdict[str, list[Row]] = defaultdict(list)
        for row in departures:
            went[deployment_of_row(row)].append(row)
        if came or went:
            tallies = self.scene.life.members.tallies
            for name in dict.fromkeys((*went, *came)):
                self._follow(name, came[name], went[name], tallies.in_deployment(name), position)

    def _follow(
        self,
        name: str,
        came: Sequence[Stint],
        went: Sequence[Row],
        members: int,
        position: Position,
    ) -> None:
        at_ms, before = position.record_timestamp_ms, members - len(came) + len(went)
        wave = self._waves.pop(name, None)
        if wave is None:
            changed_ms = self._changed_ms.pop(name, None)
            wave = _Wave(
                position, before, at_ms, None if changed_ms is None else at_ms - changed_ms
            )
            if len(self._waves) >= WAVES_MAX:
                self._close(next(iter(self._waves)))
        elif not self._continues(wave, went, at_ms):
            pause_ms = at_ms - wave.last_ms
            if wave.is_round:
                self._report(name, wave)
            # If no member had left before, the group was only growing.
            is_churn = bool(wave.went or wave.is_churn) and pause_ms <= self.rules.wave_pause_ms
            wave = _Wave(position, before, at_ms, pause_ms, is_churn)
        self._waves[name] = wave
        wave.longest_ms = max(wave.longest_ms, at_ms - wave.last_ms)
        wave.last_ms = at_ms
        most = wave.members_before // 2
        wave.is_churn |= not members or max(len(went), wave.members_before - members) > most
        wave.trail.add(
            evidence_at(
                position, "went_and_came", left=len(went), joined=len(came), members=members
            )
        )
        for row in went:
            self._went(wave, row, at_ms)
        for stint in came:
            self._came(wave, stint, at_ms)
        leaves = all(row["left_how"] == RebalanceCause.MEMBER_LEFT.text for row in went)
        wave.in_turn &= leaves and max(len(went), len(came), abs(wave.went - wave.came)) <= 1
        # No deploy any more: the next departure begins again.
        if wave.is_churn and not wave.in_turn:
            wave.newcomers.clear()
            wave.gone.clear()

    def _continues(self, wave: _Wave, went: Sequence[Row], at_ms: int) -> bool:
        """Whether departures belong to what has begun: each member goes once, without a long pause."""
        if at_ms - wave.last_ms > self.rules.wave_pause_ms:
            return False
        if any(row["member_id"] in wave.newcomers for row in went):
            return False
        return not (wave.is_churn and went and (wave.is_round or not wave.in_turn))

    @staticmethod
    def _went(wave: _Wave, row: Row, at_ms: int) -> None:
        wave.went += 1
        wave.killed += row["left_how"] in NO_RESTART
        if row["left_how"] in NO_RESTART:
            return
        if wave.kept < max(PAIRED_LEAST, 2 * wave.members_before):
            wave.kept += 1
            is_leave = row["left_how"] == RebalanceCause.MEMBER_LEFT.text
            waiting = wave.gone.setdefault(row["client_id"], deque())
            waiting.append((at_ms, row["session_timeout_ms"], is_leave))

    def _came(self, wave: _Wave, stint: Stint, at_ms: int) -> None:
        wave.came += 1
        if len(wave.newcomers) < max(PAIRED_LEAST, 2 * wave.members_before):
            wave.newcomers.add(stint.member_id)
        wave.static += stint.identity.instance_id is not None
        paired = wave.gone.get(stint.identity.client_id)
        if paired:
            gone_ms, session_ms, is_leave = paired.popleft()
            wave.restarts += 1
            wave.timeouts_are_known &= session_ms is not None
            timeout_ms = session_ms or self.rules.assumed_session_timeout_ms
            is_in_time = at_ms - gone_ms <= timeout_ms
            wave.in_time += is_in_time and is_leave
            wave.perhaps_in_time += is_in_time and not is_leave

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """Add the cost of an epoch to the waves during which it began; a wave's last rebalance may go on after it."""
        at_ms = span.first_position.record_timestamp_ms
        unowned = span.unowned_time() or UNBOUNDED
        follows = bool(span.verdicts) and span.verdicts[0].cause in _FOLLOW_UPS
        for wave in self._waves.values():
            until_ms = wave.last_ms
            if follows or span.rebalance_seq == wave.last_rebalance_seq:
                until_ms += self.rules.wave_pause_ms
            if wave.began.record_timestamp_ms <= at_ms <= until_ms:
                self._add(wave, span, unowned)

    @staticmethod
    def _add(wave: _Wave, span: EpochSpan, unowned: Bounds) -> None:
        wave.epochs += 1
        wave.rebalances += span.rebalance_seq != wave.last_rebalance_seq
        wave.last_rebalance_seq = span.rebalance_seq
        wave.partitions_moved += span.partitions_moved or 0
        wave.owns_partitions = span.owns_partitions
        if span.owns_partitions:
            wave.unowned = wave.unowned.plus(unowned)
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
        """The waves end with the group or the log."""
        for name in list(self._waves):
            self._close(name)

    def _let_pass(self, now_ms: int) -> None:
        # A longer quiet is long enough for any wave.
        while self._changed_ms:
            name, changed_ms = next(iter(self._changed_ms.items()))
            if now_ms - changed_ms <= QUIET_FACTOR * self.rules.wave_pause_ms:
                break
            del self._changed_ms[name]
        for name, wave in list(self._waves.items()):
            quiet_ms, least_ms = now_ms - wave.last_ms, self.rules.wave_pause_ms
            if quiet_ms <= least_ms:
                return
            if quiet_ms > max(least_ms, QUIET_FACTOR * wave.longest_ms):
                self._close(name)

    def _close(self, name: str) -> None:
        wave = self._waves.pop(name)
        if max(wave.members_before, wave.came) >= self.rules.wave_members:
            self._changed_ms[name] = wave.last_ms
        if len(self._changed_ms) > WAVES_MAX:
            del self._changed_ms[next(iter(self._changed_ms))]
        if wave.stands_out or wave.is_round:
            self._report(name, wave)

    def between(self, from_ms: int, to_ms: int) -> Iterator[WaveTimes]:
        """Those that went on at a time between two (epoch ms), one that may not be over included."""
        now = (
            _rollout(name, wave)
            for name, wave in self._waves.items()
            if (wave.stands_out or wave.is_round) and self._is_rollout(wave)
        )
        for each in (*self._rollouts, *now):
            if each.from_ms <= to_ms and from_ms <= each.to_ms:
                yield each

    def _is_rollout(self, wave: _Wave) -> bool:
        if wave.went != wave.came or wave.went < self.rules.wave_members:
            return False
        if 100 * wave.went < self.rules.wave_share_percent * wave.members_before:
            return False
        # Where some stopped and some died: no deploy does that.
        return not MIXED_LEAST * wave.killed > wave.went > wave.killed

    def _report(self, name: str, wave: _Wave) -> None:
        if not self._is_rollout(wave):
            return
        horizon_ms = wave.last_ms - 2 * self.rules.flapping_window_ms
        while self._rollouts and self._rollouts[0].to_ms < horizon_ms:
            self._rollouts.popleft()
        self._rollouts.append(_rollout(name, wave))
        took_ms = wave.last_ms - wave.began.record_timestamp_ms
        deploy = because(
            "deploy",
            left=wave.went,
            before=wave.members_before,
            named=because("deployment_named", name=name) if name else None,
            joined=wave.came,
            took=took_ms,
            epochs=wave.epochs,
            rebalances=wave.rebalances,
            cost=_partition_cost(wave),
        )
        self.find(
            wave.began,
            wave.last_ms,
            [deploy, *self._static_savings(wave), *_cooperative_savings(wave)],
            wave.trail.evidence(),
            subject=name,
            advice=_advice(wave),
        )

    def _static_savings(self, wave: _Wave) -> Iterator[CodedReason]:
        if wave.static == wave.came:
            yield because("already_static")
            return
        if not wave.restarts:
            yield because("static_unknown")
            yield from _not_spared(wave)
            return
        timeout = because("known_timeouts")
        if not wave.timeouts_are_known:
            timeout = because("assumed_timeout", ms=self.rules.assumed_session_timeout_ms)
        facts = {"saved": wave.in_time, "restarts": wave.restarts, "timeout": timeout}
        if wave.perhaps_in_time:
            most = wave.in_time + wave.perhaps_in_time
            yield CodedReason("static_saves_some", facts | {"most": most})
            yield because("left_or_killed", members=wave.perhaps_in_time)
        else:
            yield CodedReason("static_saves", facts)
        yield from _not_spared(wave)


def _rollout(name: str, wave: _Wave) -> WaveTimes:
    began_ms = wave.began.record_timestamp_ms
    return WaveTimes(name, began_ms, wave.last_ms, wave.epochs, wave.killed)


def _advice(wave: _Wave) -> CodedReason:
    """What the figures speak for."""
    spared = wave.restarts and wave.static < wave.came and wave.in_time + wave.perhaps_in_time
    if spared and wave.eager_stayed:
        return because("advice.deploy_wave")
    if spared:
        return because("advice.deploy_static")
    if wave.eager_stayed:
        return because("advice.deploy_cooperative")
    return because("advice.deploy_other")


def deploy_waves_of(scene: Scene) -> DeployWave:
    """The rollouts of the group."""
    found = scene.watchers[DeployWave.kind]
    assert isinstance(found, DeployWave)
    return found


def _not_spared(wave: _Wave) -> Iterator[CodedReason]:
    if wave.killed:
        yield because("not_spared", members=wave.killed)


def _cooperative_savings(wave: _Wave) -> Iterator[CodedReason]:
    if wave.eager_epochs:
        yield because(
            "cooperative_saves",
            epochs=wave.eager_epochs,
            stayed=wave.eager_stayed,
            partitions=wave.eager_partitions,
        )


def _partition_cost(wave: _Wave) -> CodedReason | None:
    if not wave.owns_partitions:
        return None
    unowned = (wave.unowned.least, wave.unowned.most)
    return because("deploy_cost", moved=wave.partitions_moved, unowned=unowned)
