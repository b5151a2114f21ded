"""What to do about each kind of finding."""

from typing import Final

from rebalance_audit.text_tables import texts_of

OF_ADVICE: Final = texts_of("""
this_client: this client
advice.stuck_group: Look at the member named first: it probably does not poll, takes too long to revoke its
        partitions, or its process is paused.
advice.two_owners: Records of the partition were probably consumed twice; check the group's assignor, or the
        broker's release for a consumer group.
advice.lost_partition: Trigger a rebalance (restart one dynamic member), and check that all members subscribe
        to the same topics and that the topic exists.
advice.static_subscription_ignored: Trigger a rebalance after changing the subscription of static members:
        restart a dynamic member, or remove one with kafka-consumer-groups.
advice.instance_id_conflict: Give every process its own instance id; two that share one keep fencing each
        other, and a process that keeps restarting looks the same.
advice.instance_id_refused: The instance id is free when its holder's session expires, or when an
        administrator removes the holder. Make sure that clients leave the group when they stop, and that no two
        processes share an instance id.
advice.coordinator_trouble: Check the broker's log at that time for the exception, and the health of the
        partition of __consumer_offsets.
advice.rebalance_storm: Start with the most frequent cause: members that die or stall are likelier than
        timeouts that are too short.
advice.rebalance_loop: Give all members of the group the same subscription and client version, and look for a
        client that requests a rebalance after each rebalance. In a classic group keep connections.max.idle.ms
        (9 min unless set) above max.poll.interval.ms: a consumer that closes an idle connection loses the
        JoinGroup request that waits on it.
advice.flapping_member: Check the log of {client:clause} for crashes, restarts by a supervisor, or processing
        that takes longer than max.poll.interval.ms.
advice.session_expiries: Look for what the members have in common: a host, a network, garbage collection, a
        supervisor that kills them. Clients that stop should close their consumer.
advice.silent_member: Check this member's lag and threads: it is in the group, and its partitions are not
        consumed. Restart it if it hangs; max.poll.interval.ms bounds how long a member that does not poll keeps
        them.
advice.records_lost: Raise the topic's retention above the longest time the group may be down, and check
        auto.offset.reset, which decides where its clients resumed.
advice.records_skipped: Check that the reset was meant to skip records; `kafka-consumer-groups --reset-offsets
        --to-offset` moves the group back while it has no members.
advice.stalled_with_lag: Look at the member's threads and its log: it heartbeats, but does not process
        records, or its commits fail.
advice.committed_beyond_end: A fetch from there fails, and auto.offset.reset decides what is read. If the
        topic was created anew, or MirrorMaker or another tool committed the offset of another cluster, reset
        the group's offsets to what it has to read.
advice.committed_without_members: Nothing, if the offsets are synced from another cluster. Stop the sync
        before members start here.
advice.backward_commit: Look for a consumer that seeks back or starts with auto.offset.reset=earliest, for a
        late commit, and for committed offsets that were deleted or reset.
advice.commit_without_ownership: Commit in onPartitionsRevoked, not after it: the next owner may already have
        started from an older offset.
advice.commit_flood: Commit after each batch, not after each record. A client that commits the same offset
        many times a second is probably retrying on a deleted topic: stop it, or change its subscription.
advice.commits_stopped: Look for what all members wait for, such as a database or a topic that they produce
        to, and for failed commits in their logs.
advice.slow_revoker: Find out what the member did then: a revocation callback, processing between two polls,
        or nothing, as a process does that is paused (garbage collection, CPU limits). Its partitions are not
        consumed meanwhile.
advice.revoker_blocked_by_deleted_topic: Stop the consumers of a topic, or change their subscription, before
        you delete it: a Java client with automatic commits probably retries the commit on the deleted topic
        until its timeout.
advice.slow_member: Check the heartbeat interval, and whether the client was frozen, starved or disconnected
        at that time.
advice.slow_sync: Check the leader: no member gets its assignment before the leader has sent it.
advice.epoch_without_target: Check whether the group's members were alive: the next heartbeat of any of them
        computes the target.
advice.eager_under_cooperative_name: Remove the other assignors from partition.assignment.strategy once all
        members know the cooperative one: a list that still has an eager assignor makes a Java client eager.
advice.half_finished_migration: Move the members named here to group.protocol=consumer as well; until then
        every rebalance waits for the slower protocol.
advice.protocol_downgraded: If this was no deliberate rollback, look for members of an old release or
        configuration that joined last.
advice.coordinator_moved: Check the brokers, not the clients: with a session timeout longer than a failover,
        members survive one.
advice.group_not_served: Compare `kafka-features describe` of the new broker with that of the old one
        (group.version must be 1), and look for UnsupportedVersionException in the clients' logs.
advice.deploy_wave: Give the members instance ids (group.instance.id) with a session timeout longer than a
        restart takes, or use a cooperative assignor or the consumer protocol. With instance ids, the partitions
        of a member wait for its restart.
advice.deploy_static: Give the members instance ids (group.instance.id) with a session timeout longer than a
        restart takes; the partitions of a member then wait for its restart.
advice.deploy_cooperative: Use a cooperative assignor or the consumer protocol: members then keep what they
        need not give up.
advice.deploy_other: Nothing to change by these figures; roll out when little is consumed, and let each member
        join before the next one stops.
advice.unsticky_assignment: Use a sticky assignor (cooperative-sticky, uniform), and instance ids where
        members only restart.
advice.unbalanced_assignment: Use an assignor that balances over all topics (roundrobin, cooperative-sticky,
        uniform); range does not.
advice.regexes_alike: The assignment is not affected; write the expression the same way in all clients, so
        that the coordinator resolves one instead of two (librdkafka puts parentheses around it).
advice.log_gap: Where Kafka's log cleaner took them, ingest the log into a lake more often than it runs; where
        a batch is damaged or a file is missing, copy the log again. Causes and latencies next to the gap are
        marked.
advice.broker_log_contradiction: Make sure that the logs are from this cluster and this time; if they are,
        records are missing or two coordinators served the group at once.
advice.dead_group: Delete the group if its offsets are no longer needed; check first that no consumer commits
        to it without joining.
advice.hanging_transaction: Find it with `kafka-transactions find-hanging` and end it with `kafka-transactions
        abort`; then look for the producer that died or lost its transactional.id.
advice.topic_growth: Commit less often (auto.commit.interval.ms, or once per batch instead of once per
        record); a client that commits many times a second on few partitions may be retrying on a deleted topic.
advice.sources_differ: Compare both with the live log (`kafka-dump-log`, or `decode` of a new copy): one copy
        is damaged, or from another cluster, which then needs its own cluster name.
# where no finding is about the rebalance: what held it up, or what set it off
advice.kept_partitions: Find out what {member:member} did then: a revocation callback, processing between two
        polls, or nothing, as a process does that is paused.
advice.did_not_rejoin: Look at the log of {member:member} for a crash, a pause of the process, or processing
        between two polls. The session timeout bounds how long the others wait for a member that died,
        max.poll.interval.ms for one that does not poll.
advice.silent: Look at the log of {member:member} for a crash, a kill, a pause of the process, or a lost
        connection. Clients that stop should close their consumer.
advice.had_left: Restart static members within less time, or give them a shorter session timeout: their
        partitions wait for them until it ends.
advice.coordinator: Check the brokers, not the clients: with a session timeout longer than a failover, members
        survive one.
advice.late: Check the heartbeat interval of {member:member}, and whether it was paused, starved or
        disconnected then.
advice.now.kept_partitions: Take a thread dump of {member:member}: it sends heartbeats, but its poll loop or
        its revocation callback does not return. Restart this member alone if it hangs; the others need nothing.
advice.now.late: Look at the process of {member:member}: it sends no heartbeat, as after a crash, a kill, a
        pause or a lost connection. Restart this member alone; without it the group waits until its session
        ends.
advice.now.had_left: Start {member:member} again: its partitions wait for it until its session ends.
advice.gone: Look at the logs of the members that are gone for crashes, kills, pauses of the process, and
        processing that takes longer than max.poll.interval.ms.
advice.came: Start members together: each that joins by itself makes the group rebalance.
advice.came_or_went: Start and stop members together: each that comes or goes by itself makes the group
        rebalance. Those that only restart need none with instance ids (group.instance.id).
advice.changed: Change topics, subscriptions and assignors when little is consumed: each such change makes the
        group rebalance.
advice.join_phase: Look at members that no longer commit, and at those that are slow to poll: the join phase
        waits for each member, up to its rebalance timeout (max.poll.interval.ms of Java clients).
advice.unknown_cause: Read the log of the broker that coordinated the group: it says what set the rebalance
        off (--broker-log).
""")
"""Code -> template."""
