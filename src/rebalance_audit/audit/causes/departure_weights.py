"""Every number of the departure model; docs/departures.md shows them in a table.

`python -m workshop.accuracy.fit` fits them on simulated clusters and on logs of real clients, and keeps them close to
where they were: those whose text begins with "Set" are no result of it, but Kafka's defaults, or what no log can show.
"""

from typing import Final, NamedTuple


class DepartureWeights(NamedTuple):
    """Shares are probabilities, odds are those against a leave, times are ms."""

    # Before any evidence
    expired: float = 1.2
    """Odds of an expiry."""
    timed_out: float = 0.08
    """Odds of a rebalance timeout."""
    removed: float = 0.02
    """Set: odds of a removal; 7 beside 312 leaves in logs of real clients."""
    static_expired: float = 10.0
    """Odds of an expiry of a static member."""
    static_timed_out: float = 0.1
    """Odds of a rebalance timeout of a static member."""
    static_removed: float = 0.45
    """Odds of a removal of a static member."""
    silent_dead: float = 0.25
    """Set: odds of a death, against a close, of a static member of a classic group: it leaves in neither case."""
    slow_poll_ms: float = 10_000.0
    """Set: rebalance timeout from which on timeouts are rarer, with its square root."""
    assigned_expired: float = 4.0
    """How much likelier a static member expired where a leave for a while has a record of its own."""
    assigned_removed: float = 0.3
    """How much rarer removals are in groups whose coordinator assigns."""
    # How long a member at work goes without a commit
    dry: float = 0.12
    """Share of members that have nothing to commit, unless they have been seen to commit unchanged positions."""
    dry_unknown: float = 0.5
    """Share with nothing to commit among members that made no more than two commits."""
    dry_alone: float = 0.3
    """Share with nothing to commit where no other member ever committed."""
    dry_with_others: float = 0.5
    """Share with nothing to commit where the other members made no commit more than it did."""
    kinship: float = 0.3
    """What such a commit of another client in the group counts."""
    dry_scale_ms: float = 9_000.0
    """Scale of the Lomax distribution of the time for which those go without a commit."""
    dry_shape: float = 0.6
    """Its shape."""
    longest: float = 0.25
    """Share of pauses that are as likely to be as long as the longest, not as the mean one."""
    overlong: float = 0.07
    """Share of pauses that are longer than any that the member has shown."""
    # When it goes after its last commit
    on_close: float = 0.75
    """Share of clients that commit as they close, before the group has shown whether its clients do."""
    dry_close: float = 0.3
    """What part of `on_close` holds for clients that have nothing to commit."""
    close_ms: float = 190.0
    """Mean time from that commit to the leave."""
    habit: float = 4.0
    """Set: for so many ends the share above counts, against the ends that the group has shown."""
    polled_late: float = 0.08
    """Set: odds of a leave because the application had not polled for max.poll.interval.ms, where that is 10 s."""
    no_poll_limit: float = 0.2
    """Set: how much smaller where session and rebalance timeout are equal, as of clients without such an interval."""
    background: float = 0.2
    """Set: share of clients that commit up to a usual pause after their last poll, while the application works."""
    on_timer: float = 0.16
    """Share of expiries exactly a session after the commit, as no heartbeat followed it."""
    timed: float = 1.25
    """Set: a timer's longest pause is at most so many times the mean one."""
    early: float = 0.93
    """Set: a commit is early if the pause before it is shorter than so many mean ones, by more than any was longer."""
    off_beat: float = 0.05
    """Share of a timer's commits that come early for another reason than closing."""
    on_beat: float = 0.1
    """Share of commits on closing that happen to come when the timer was due."""
    heartbeat_lost: float = 0.04
    """Share of expiries of members whose commits got through and whose heartbeats did not."""
    # The join phase
    heartbeat_ms: float = 3_000.0
    """Set: the default of heartbeat.interval.ms, within which members hear of a join phase and rejoin."""
    quick: float = 0.6
    """Share of join phases in which all do."""
    unseen: float = 0.08
    """Share of join phases that something began that left no record."""
    begun_by_other: float = 0.35
    """Share that others began where others came or went as well."""
    late_others: float = 0.05
    """Share of join phases in which those that stay commit long after it began."""
    earlier: float = 0.45
    """Share of members of an emptied group that went before the last one did."""
    worked_through: float = 0.2
    """Share of members that miss a whole join phase and go on committing in it."""
    # Others, and what comes next
    joined_removed: float = 9.0
    """Odds of a removal where the client joined in the same phase, against a leave; the coordinator stayed."""
    joined_expired: float = 2.0
    """Those of an expiry."""
    moved: float = 3.0
    """Odds of an expiry where the coordinator moved since the member was last seen, against elsewhere."""
    moved_and_joined: float = 20.0
    """Odds of an expiry where, besides, its client joined in the same phase under another member id."""
    company: float = 0.45
    """How much simultaneous departures reveal where no member is left: 1 = they all ended alike."""
    company_of_some: float = 0.1
    """`company` where others stay: a join phase that waits for one that died collects leaves as well."""
    others_stay: float = 0.02
    """Share of removals of dynamic members that leave others in the group: Kafka's Admin removes all."""
    back_ms: float = 3_000.0
    """Removed clients hear of it with a heartbeat and join again: mean time until their generation is recorded."""
    stays_away: float = 0.03
    """Share of removed clients that do not come back."""
    returns: float = 0.2
    """Share of clients that left, or died, and are back soon."""
    returns_ms: float = 10_000.0
    """Set: about so long they take."""
    kept_id_late: float = 0.05
    """Share of leaves of clients that come back under their member id, where they may have polled too late."""
    kept_id: float = 0.005
    """Share of such leaves where they cannot have: clients keep their id until they are closed."""
    # Groups in which the coordinator assigns
    assigned_heartbeat_ms: float = 5_000.0
    """Set: the default of group.consumer.heartbeat.interval.ms."""
    beats_most: float = 12.0
    """Set: for so many heartbeats in a row their times stay those of the interval."""
    timer_early_ms: float = 60.0
    """Set: the timer that a recorded heartbeat started fires so much earlier than its record's time says, at most."""
    timer_late_ms: float = 100.0
    """Set: so much later, at most."""
    timer_share: float = 0.5
    """Share of expiries at the time that the last recorded heartbeat, and some intervals more, announce."""
    overdue: float = 0.02
    """Share of living members that do not answer a target within a heartbeat interval."""
    kept: float = 0.000_001
    """Set: share of other ends just as a member's rebalance timeout runs out, while it has partitions to revoke."""
    one_request: float = 0.0001
    """Set: share of leaves and expiries that share a write with others."""
    together: float = 60.0
    """Odds of a leave within 100 ms of another one: applications stop as a whole."""
    # The sum
    temper: float = 0.95
    """The log-likelihoods are multiplied by it: evidence is less independent than the sum assumes."""


WEIGHTS: Final = DepartureWeights()
SURE: Final = 0.95
"""From this posterior on, a cause is probable; below, it is `member_departed`."""
