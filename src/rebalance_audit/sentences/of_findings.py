"""Sentences about findings: what happened."""

from typing import Final

from rebalance_audit.text_tables import texts_of

OF_FINDINGS: Final = texts_of("""
# how long, how often
lasted: {ms:duration}
lasted_at_least: at least {ms:duration}
latest_of: This is the latest of {times:number} cases.
worst_of: This is the worst of {times:number} cases.
# progress
stuck_open: Epoch {epoch:plain} has not been reached by every member for {lasted:clause}: {why:clause}.
stuck: Epoch {epoch:plain} was not reached by every member for {lasted:clause}: {why:clause}.
no_target_computed: no target assignment was computed, so probably no member sent a heartbeat
did_not_revoke: {members:members} did not revoke partitions
slow_revocation: {member:member} took {took:duration} to revoke partitions
waited_for: members waited for {members:members}
did_not_adopt: {members:members} did not adopt the assignment
did_not_adopt_some: {members:members} and {more:plain} more did not adopt the assignment
reached_last: {member:member} reached it last
moved_meanwhile: its coordinator moved meanwhile
holder_unknown: the log does not show which member held it up
no_target_late: No target assignment for epoch {epoch:plain} for {lasted:clause}: {members:silence}.
no_target_in_epoch: No target assignment for epoch {epoch:plain} before it ended, {lasted:clause} later:
        {members:silence}.
no_target_at_end: No target assignment for epoch {epoch:plain} by the end of the log, for {lasted:clause}:
        {members:silence}.
slow_now: Member {member:member} is slow to {what:clause}.
slow_once: Member {member:member} was slow to {what:clause} once, for {longest:duration}{again:clause}.
slow_times: Member {member:member} was slow to {what:clause} {times:number} times, {longest:duration} at the
        longest{again:clause}.
and_again: , and is slow again
to_revoke: revoke partitions
to_adopt: adopt its assignment
slow_sync: The assignment was late {times:times}, {longest:duration} after the join phase at the longest;
        leader: {leaders:members}.
slow_sync_unknown: The assignment was late {times:times}, {longest:duration} after the join phase at the
        longest; the leader is unknown.
blocked_by_topic: Member {member:member} did not revoke {topics:names} within its rebalance timeout of
        {timeout:duration}; the topic was deleted, which probably blocked it.
# storms and loops
storm: {epochs:count epoch} began within {took:duration}; their causes: {causes:tally}.
loop: {epochs:count epoch} in a row with the cause {cause:label}, one every {mean:duration}, while no member
        joined or left.
set_off_by: Set off by {members:members}.
mixed_subscriptions: The members do not all subscribe to the same topics, which probably feeds it.
# members
flapping: {client:Clause} left and returned {times:number} times within {took:duration}.
instance_conflict_hosts: Instance {instance:name} changed hands {times:number} times within {took:duration},
        among hosts {hosts:names}: several processes probably share it.
instance_conflict: Instance {instance:name} changed hands {times:number} times within {took:duration}, all on
        one host: several processes share it, or one keeps restarting.
silent: {member:member} committed nothing {lasted:clause}, while others did: {partitions:count partition},
        committed about every {interval:duration} until then.
silent_so_far: for at least {ms:duration}
silent_until_gone: for {ms:duration}, until it was gone
silent_until_deleted: for {ms:duration}, until the group was deleted
silent_until_taken_over: for {ms:duration}, until another member took over
silent_until_resumed: for at least {ms:duration}, then it resumed
perhaps_nothing_to_consume: Its records do not show that it commits on a timer, so perhaps its partitions had
        nothing to consume.
stalled_with_lag: {member:member} did not commit {partitions:count partition} for at least {lasted:duration},
        while at least {records:count record} waited.
lag_may_be_marker: The one offset that waits may be the marker of a transaction, which is no record: end
        offsets alone do not show which it is.
committed_beyond_end: The committed offset of {partitions:count partition} lay beyond the end by up to
        {offsets:count offset} for at least {lasted:duration}.
committed_without_members: The committed offsets of {partitions:count partition} were moved forward by
        {records:count record} in total by {times:count commit} while the group had no members: by a tool that
        syncs offsets, or by a consumer that assigns partitions to itself. It was no reset.
commit_flood: {partition:name} was committed {times:number} times in {took:duration}.
flood_repeats: Most of these commits repeat the same offset.
records_skipped: The committed offsets of {partitions:count partition} were moved forward by {records:count
        record} in total while the group had no members.
records_lost: Retention deleted at least {records:count record} of {partitions:count partition} before they
        were committed.
backward_commit: The next owner of {partitions:count partition} committed a lower offset than the owner
        before; {records:count record} in total will be read again.
commit_without_ownership: A member committed {partitions:count partition} after it had lost ownership, before
        the next owner was assigned.
commits_stopped: No member of the group committed for at least {ms:duration}; before, members committed about
        every {interval:duration}, whether there was anything to consume or not.
sessions_expired: {sessions:count session} expired within {took:duration}; a broker's log proves it.
sessions_probably_expired: {sessions:count session} probably expired within {took:duration}.
sessions_partly_proven: {sessions:count session} probably expired within {took:duration}; a broker's log
        proves {proven:number} of them.
# the coordinator
not_served: The coordinator moved (leader epoch {old:plain} to {new:plain}) and heard from none of the
        {members:count member} before all were gone.
coordinator_moved: The coordinator moved (leader epoch {old:plain} to {new:plain}); within {window:duration}
        {gone:plain} of {members:count member id} {gone:were} gone.
move_is_likely_cause: The move probably caused it.
move_may_be_cause: The move may be the cause.
log_gap: Records of the group are missing in {places:count place} of the log.
dead_group: The group has had no members for at least {ms:duration}.
log_contradicts: The broker's log and the records of epoch {epoch:plain} disagree: {line:clause}.
instance_refused: Instance {instance:name} was refused {times:times} while member {holder:member} held its id.
trouble: The coordinator {what:clause}{times:repeated}{text:colon}.
trouble.load_failed: could not load the group's partition
trouble.coordinator_reloaded: lost track of the group's partition and reloaded it
trouble.write_failed: could not write to the group's partition
trouble.store_failed: could not store the group's state
trouble.assignment_failed: could not compute a target assignment
trouble.assignment_incomplete: gave some members nothing, because the leader's assignment left them out
trouble.no_member_rejoined: could not complete a join phase, because no member rejoined
trouble.upgrade_refused: did not convert the group to a consumer group
trouble.downgrade_refused: did not convert the group to a classic group
trouble.classic_join_refused: refused a classic member in the consumer group
# deploys
deploy: {left:plain} of {before:count member}{named:clause} left and {joined:plain} joined within
        {took:duration}; it took {epochs:count epoch} in {rebalances:count rebalance}{cost:clause}.
deployment_named:  named {name:name}…
deploy_cost: , moved {moved:count partition} and left {unowned:bounds} of partition time without owner
already_static: The members already have instance ids.
static_unknown: No departed member is followed by one of the same client id, so it is unknown what static
        membership would have saved.
static_saves: With static membership {saved:number} of {restarts:count restart} would have needed no rebalance
        (assumption: each arrival is the restart of the client id's earliest departure, within
        {timeout:clause}).
static_saves_some: With static membership {saved:number} to {most:number} of {restarts:count restart} would
        have needed no rebalance (assumption: each arrival is the restart of the client id's earliest departure,
        within {timeout:clause}).
known_timeouts: the members' session timeout
assumed_timeout: an assumed session timeout of {ms:duration}
left_or_killed: The records do not show whether {members:number} of them left or were killed; after a kill the
        return comes too late.
not_spared: {members:number} that were killed or removed are not counted: their return would have been
        refused, or too late.
cooperative_saves: In {epochs:count eager generation} {stayed:number} of {partitions:count assignment} kept
        their owner and would not have been stopped by a cooperative assignor (assumption: it would have
        assigned the same).
# assignments
two_owners: Partitions were in two assignments at once{lasted:clause}.
two_owners_for:  for {ms:duration}
two_owners_times: , {times:number} times
two_owners_times_within: , {times:number} times within {ms:duration}
gap_looks_alike: Records are missing from the log, which can look the same.
topic_unassigned: The group subscribes to {topic:name} and looks stable, but for {lasted:clause} the
        assignments held no partition of {topic:name}.
partitions_unassigned: The group subscribes to {topic:name} and looks stable, but for {lasted:clause} the
        assignments did not hold {topic:name} {gaps:ranges}. They are probably not consumed, unless the topic
        was recreated with fewer partitions.
unbalanced: Member {member:member} had {most:count partition} for {lasted:clause}; the mean was {mean:mean}
        and the least {least:plain}, among {members:count member} with the same subscription (assignor
        {assignor:name}).
unsticky: {moved:count partition} moved in {epochs:count epoch}, where the joins and departures of members
        needed about {needed:count move} (assignor {assignors:names}).
# subscriptions and protocols
static_ignored: Static member {instance:name} returned with a subscription to {topics:names} as well and got
        its old assignment; the new topics had no owner until the next rebalance.
expressions_alike: The expressions {expression:quoted} and {others:quotes} match the same names and are kept
        as different ones.
eager_cooperative: The group's protocol is {protocol:name}, but its members revoke all partitions at each
        rebalance, as the eager protocol does ({generations:count generation} in a row).
went_back: The group went back to the classic protocol with generation {epoch:plain}.
half_migrated: The group had members of both protocols for {lasted:clause}, and the number of classic ones did
        not fall; still classic: {members:members}.
half_migrated_over: The group had members of both protocols for {lasted:clause}, and the number of classic
        ones did not fall until the last of them was gone.
""")
"""Code -> template."""
