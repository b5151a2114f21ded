"""Members that keep leaving and returning, and member ids that fight over one instance id."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.findings.finding import AtLogEnd, Ending, Severity
from rebalance_audit.audit.findings.watcher import Trail, Watcher, truly_changed
from rebalance_audit.audit.findings.waves import deploy_waves_of
from rebalance_audit.audit.members.stint import Identity, Stint
from rebalance_audit.audit.members.tally import common_name
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import Evidence, RebalanceCause
from rebalance_audit.replay.changes import Position
from rebalance_audit.sentences.reason import CodedReason, because

WHO_LIMIT = 10_000
"""Clients followed at once; beyond that the one quiet for longest is forgotten, to bound memory."""

Who = tuple[str, str, str]
"""Instance id of a static member, else client id and host: what a restart keeps when it changes the member id."""


def _who(instance_id: str | None, client_id: str, client_host: str) -> Who:
    return ("", client_id, client_host) if instance_id is None else (instance_id, "", "")


def _who_is(identity: Identity) -> Who:
    return _who(identity.instance_id, identity.client_id, identity.client_host)


def _client_reason(who: Who) -> CodedReason:
    instance_id, client_id, client_host = who
    if instance_id:
        return because("instance", instance=instance_id)
    return because("client", client_id=client_id, host=client_host)


@dataclass(slots=True)
class _Returns:
    """One client's departures and returns since it was last quiet."""

    peak: int
    """Largest number of members of this client at one time."""
    away: int = 0
    returns: deque[tuple[Position, str]] = field(default_factory=lambda: deque(maxlen=64))
    last_ms: int = 0
    began: Position | None = None
    count: int = 0
    trail: Trail = field(default_factory=Trail)
    members: deque[str] = field(default_factory=lambda: deque(maxlen=8))


class FlappingMember(Watcher):
    """Counts how often each client returns after a departure.

    The count restarts with each coordinator: a failover is not the client's fault.
    """

    kind = "flapping_member"
    is_of_subject = True
    definition = (
        "One client (instance id, or client id and host) left and returned at least {flapping_returns} times "
        "within {flapping_window_ms}; times the number of members that it has at once. Returns in a rollout "
        "(deploy_wave) do not count."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.ENDS

    _living: dict[Who, int] = field(default_factory=dict)
    """Client -> number of its members in the group."""
    _clients: dict[Who, _Returns] = field(default_factory=dict)
    """Clients that came or went within the window, the one quiet for longest first."""
    _leader_epoch: int | None = None

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """Pair each arrival with an earlier departure of the same client."""
        at_ms = position.record_timestamp_ms
        if position.leader_epoch != self._leader_epoch:
            self._leader_epoch = position.leader_epoch
            for client in self._clients.values():
                client.returns.clear()
                client.away = 0
        self._forget_the_quiet(at_ms)
        arrivals, departures = truly_changed(arrivals, departures)
        for row in departures:
            who = _who(row["instance_id"], row["client_id"], row["client_host"])
            self._client(who, at_ms).away += 1
            left = self._living.pop(who, 0) - 1
            if left > 0:
                self._living[who] = left
        for stint in arrivals:
            who = _who_is(stint.identity)
            client = self._client(who, at_ms)
            self._living[who] = living = self._living.get(who, 0) + 1
            client.peak = max(client.peak, living)
            if client.away:
                client.away -= 1
                self._returned(who, client, stint.member_id, position)
        watches = self.scene.life.watches
        if len(self._living) > len(watches):
            # A member can leave with a different client id or host than it joined with.
            self._living = dict(
                Counter(_who_is(watch.stint.identity) for watch in watches.values())
            )

    def ended(self, end: Ending) -> None:
        """Report the clients that still flap."""
        for who, client in self._clients.items():
            over_ms = client.last_ms + self.rules.flapping_window_ms + 1
            self._close(who, client, going_on=client.began is not None and end.hides(over_ms))

    def _client(self, who: Who, at_ms: int) -> _Returns:
        client = self._clients.pop(who, None)
        if client is not None and at_ms - client.last_ms > self.rules.flapping_window_ms:
            self._close(who, client, going_on=False)
            client = None
        if client is None:
            client = _Returns(self._living.get(who, 0))
            if len(self._clients) >= WHO_LIMIT:
                self._forget_first()
        client.last_ms = at_ms
        self._clients[who] = client
        return client

    def _forget_the_quiet(self, now_ms: int) -> None:
        quiet_ms = now_ms - self.rules.flapping_window_ms
        while self._clients and next(iter(self._clients.values())).last_ms < quiet_ms:
            self._forget_first()

    def _forget_first(self) -> None:
        who, client = next(iter(self._clients.items()))
        del self._clients[who]
        self._close(who, client, going_on=False)

    def _returned(self, who: Who, client: _Returns, member_id: str, position: Position) -> None:
        evidence = evidence_at(
            position, "client_back", client=_client_reason(who), member=member_id
        )
        client.returns.append((position, member_id))
        at_ms = position.record_timestamp_ms
        while at_ms - client.returns[0][0].record_timestamp_ms > self.rules.flapping_window_ms:
            client.returns.popleft()
        client.members.append(member_id)
        if client.began is not None:
            client.count += 1
            client.trail.add(evidence)
        elif len(client.returns) >= self._needed(client):
            client.began = client.returns[0][0]
            client.count = len(client.returns)
            for when, back_as in client.returns:
                client.trail.add(
                    evidence_at(when, "client_back", client=_client_reason(who), member=back_as)
                )

    def _needed(self, client: _Returns) -> int:
        return min(64, self.rules.flapping_returns * max(1, client.peak))

    def _close(self, who: Who, client: _Returns, *, going_on: bool) -> None:
        if client.began is None:
            return
        began_ms, deployment = client.began.record_timestamp_ms, common_name(who[0] or who[1])
        rollouts = [
            each
            for each in deploy_waves_of(self.scene).between(began_ms, client.last_ms)
            if each.deployment == deployment
        ]
        # Each of them restarts each member once.
        if client.count - client.peak * len(rollouts) < self._needed(client):
            return
        took_ms = client.last_ms - began_ms
        whom = _client_reason(who)
        self.find(
            client.began,
            None if going_on else client.last_ms,
            because("flapping", client=whom, times=client.count, took=took_ms),
            client.trail.evidence(),
            members=list(dict.fromkeys(client.members)),
            subject="/".join(who),
            advice=because(f"advice.{self.kind}", client=whom),
        )


@dataclass(slots=True)
class _Fight:
    takeovers: deque[tuple[Position, str, str]]
    began: Position | None = None
    count: int = 0
    hosts: set[str] = field(default_factory=set)
    members: deque[str] = field(default_factory=lambda: deque(maxlen=8))
    trail: Trail = field(default_factory=Trail)


class InstanceIdConflict(Watcher):
    """Counts how often an instance id changes hands.

    The count restarts with each coordinator: clients that a failover lost also return under new member ids.
    """

    kind = "instance_id_conflict"
    is_of_subject = True
    definition = (
        "At least {instance_takeovers} member ids took over one instance id from another within "
        "{instance_window_ms}; critical where they came from several hosts."
    )
    severity = Severity.WARNING
    other_severity = Severity.CRITICAL
    at_log_end = AtLogEnd.ENDS

    _fights: dict[str, _Fight] = field(default_factory=dict)

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """Count every arrival that took an instance id from another member id."""
        self._forget_the_quiet(position.record_timestamp_ms)
        hosts = {row["member_id"]: row["client_host"] for row in departures}
        replaced = {
            row["next_member_id"]: row["member_id"]
            for row in departures
            if row["left_how"] == RebalanceCause.STATIC_MEMBER_REPLACED.text
        }
        for stint in arrivals:
            old_id, instance_id = replaced.get(stint.member_id), stint.identity.instance_id
            if old_id is not None and instance_id is not None:
                self._took(instance_id, old_id, stint, hosts.get(old_id, ""), position)

    def ended(self, end: Ending) -> None:
        """Report the fights that still go on."""
        for instance_id, fight in self._fights.items():
            last_ms = fight.takeovers[-1][0].record_timestamp_ms
            over_ms = last_ms + self.rules.instance_window_ms + 1
            going_on = fight.began is not None and end.hides(over_ms)
            self._close(instance_id, fight, going_on=going_on)

    def _took(
        self, instance_id: str, old_id: str, stint: Stint, old_host: str, position: Position
    ) -> None:
        at_ms, window_ms = position.record_timestamp_ms, self.rules.instance_window_ms
        fight = self._fights.pop(instance_id, None)
        if fight is not None and (
            at_ms - fight.takeovers[-1][0].record_timestamp_ms > window_ms
            or position.leader_epoch != fight.takeovers[-1][0].leader_epoch
        ):
            self._close(instance_id, fight, going_on=False)
            fight = None
        if fight is None:
            fight = _Fight(deque(maxlen=max(1, self.rules.instance_takeovers)))
        self._fights[instance_id] = fight
        fight.takeovers.append((position, old_id, stint.member_id))
        if len(fight.hosts) < 8:
            fight.hosts |= {old_host, stint.identity.client_host} - {""}
        fight.members.append(stint.member_id)
        if fight.began is not None:
            fight.count += 1
            fight.trail.add(self._evidence(instance_id, *fight.takeovers[-1]))
            return
        full = len(fight.takeovers) == fight.takeovers.maxlen
        if full and at_ms - fight.takeovers[0][0].record_timestamp_ms <= window_ms:
            fight.began, fight.count = fight.takeovers[0][0], len(fight.takeovers)
            for takeover in fight.takeovers:
                fight.trail.add(self._evidence(instance_id, *takeover))

    def _forget_the_quiet(self, now_ms: int) -> None:
        """Forget fights that are over; the instance ids are in the order of their last takeover."""
        quiet_ms = now_ms - self.rules.instance_window_ms
        while self._fights:
            instance_id, fight = next(iter(self._fights.items()))
            last_ms = fight.takeovers[-1][0].record_timestamp_ms
            if last_ms >= quiet_ms and len(self._fights) < WHO_LIMIT:
                return
            del self._fights[instance_id]
            self._close(instance_id, fight, going_on=False)

    @staticmethod
    def _evidence(instance_id: str, position: Position, old_id: str, new_id: str) -> Evidence:
        return evidence_at(
            position, "instance_moved", instance=instance_id, replaced=old_id, member=new_id
        )

    def _close(self, instance_id: str, fight: _Fight, *, going_on: bool) -> None:
        if fight.began is None:
            return
        last_ms = fight.takeovers[-1][0].record_timestamp_ms
        hosts = sorted(host.removeprefix("/") for host in fight.hosts)
        several = len(hosts) > 1
        facts = {
            "instance": instance_id,
            "times": fight.count,
            "took": last_ms - fight.began.record_timestamp_ms,
        }
        self.find(
            fight.began,
            None if going_on else last_ms,
            CodedReason("instance_conflict_hosts", facts | {"hosts": hosts})
            if several
            else CodedReason("instance_conflict", facts),
            fight.trail.evidence(),
            members=list(dict.fromkeys(reversed(fight.members))),
            subject=instance_id,
            other=several,
        )
