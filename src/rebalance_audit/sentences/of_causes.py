"""Sentences about causes: what began an epoch, and what else happened in it."""

from typing import Final

from rebalance_audit.text_tables import texts_of

OF_CAUSES: Final = texts_of("""
records_missing: Records before this epoch are missing from the log.
# members come and go
member_joined: Member {member:member} joined.
members_joined: Members {members:members} joined.
static_member_joined: Member {member:member} (instance {instance:name}) joined.
instance_replaced: Instance {instance:name} rejoined as {member:member}, replacing {replaced:member}.
instance_rejoined: Its instance {instance:name} rejoined as {member:member}, which alone needs no new
        generation.
first_member: Member {member:member} joined as the first member of the group.
group_began: The group started with {members:count member}.
first_member_gone: The group's first member was gone before it got an assignment.
last_member_gone_early: The last member was gone before it got an assignment.
unnamed_member_gone: The last member is gone. No earlier generation got an assignment, so no record names the
        member.
last_member_gone: The last member is gone.
unseen_member_gone: Member {member:member} is gone; no earlier record of it is in the log.
began_without_topics: The group started without topics and got its first epoch when {when:clause}.
when_expression_resolved: its regular expression was resolved
when_topics_named: a member subscribed to topics
had_begun_before: The group had started before, without topics and therefore without an epoch.
# subscriptions and metadata
subscription_changed: Member {member:member} changed its subscription.
new_topics: The join added topics that the group did not subscribe to: {topics:names}.
returned_with_subscription: Instance {instance:name} rejoined as {member:member} with a different
        subscription.
assignor_preferred: Member {member:member} prefers another assignor.
streams_metadata_changed: Member {member:member} changed its topology or process metadata.
expression_matches: The expression {expressions:names} now matches different topics.
expression_resolved: The expression {expressions:names} of member {member:member} was resolved.
expression_added: Member {member:member} had subscribed to the expression earlier, without an epoch of its
        own.
expression_dropped: A member had dropped the expression that matched {topics:names}, without an epoch of its
        own.
metadata_of_member: The metadata of {kind:text} {member:member} changed: {changes:list}.
metadata_of_members: The metadata of {members:number} {kind:text}s changed: {changes:list}.
config_offset: config offset {before:plain} to {after:plain}
address: address {before:clipped} to {after:clipped}
protocol_version: protocol version {before:plain} to {after:plain}
may_be_primary: it may be the primary now
may_not_be_primary: it may not be the primary now
metadata_size: {before:count byte} to {after:count byte}
metadata_content: different content in {size:count byte}
# topics
topics_changed: The subscribed topics changed: {topics:names}.
topics_recorded_again: The coordinator recorded the subscribed topics again; none of them differs.
first_hash: This is the first refresh by a release that records a hash of the topics instead of a list.
first_list: This is the first refresh by a release that records a list of the topics instead of a hash.
hash_of_other_topics: The recorded hash is not that of the topics that the known members subscribe to.
hash_changed: The hash of the subscribed topics changed, and no change by a member explains it.
newly_subscribed: No earlier epoch had taken into account that the group now subscribes to {topics:names}.
no_longer_subscribed: No earlier epoch had taken into account that the group no longer subscribes to
        {topics:names}.
metadata_log: According to the cluster's metadata log, {changes:list}.
topic_created: {topic:name} was created
topic_deleted: {topic:name} was deleted
topic_resized: {topic:name} has {partitions:count partition} instead of {before:plain}
topic_moved: {topic:name} was recreated or has replicas in other racks
share_initialised: Partitions of the subscribed topics were initialised for sharing and can now be assigned.
share_offsets_altered: An administrator altered the offsets of the group, which had no members.
# protocols
assignor_agreed: The members now agree on {assignor:name} instead of {before:name}.
upgraded: The first member to use the consumer protocol turned the classic group into a consumer group.
forgot_topics: The conversion did not record the subscribed topics, so the coordinator found them changed at
        the next comparison, whether they were or not.
downgraded: The last member to use the consumer protocol is gone, and the group became a classic group.
upgraded_meanwhile: The group became a consumer group before the generation got its assignment.
of_protocol_type: Protocol type {protocol_type:clipped}{owner:clause}:
of_protocol: Protocol {protocol:name}{owner:clause}:
whose_protocol:  ({owner:text})
# what the records do not hold
no_generation_before: The previous generation is not in the log, so there is nothing to compare with.
unrecorded_generations: {skipped:count generation} before it left no record.
unexplained: No record in the write of this epoch shows why it began.
# the same members again
unreadable_assignment: Members and subscriptions are the same. An assignment cannot be read, so it is unknown
        whether the same partitions are assigned.
hands_out_revoked: It hands out partitions that the previous generation only revoked.
other_partitions: The same members share a different set of partitions.
owned_unreadable: What they owned before cannot be read.
same_subscriptions: Members and subscriptions are the same.
same_topics: Members and the topics that they subscribe to are the same.
same_metadata: Members and their metadata are the same.
leader_reported: In generation {epoch:plain} the leader reported {error:clause}, after which the clients
        rejoin.
named_error: {text:text}
error_code: error code {code:plain}
follow_up_at_once: A follow-up rebalance: in generation {epoch:plain} the leader asked {clients:count client}
        to rejoin at once, because tasks change their owner.
probing_rebalance: A probing rebalance, which generation {epoch:plain} scheduled for {after:duration} later,
        to move tasks to clients that have restored their state.
workers_unchanged: Workers and their config offsets are the same.
workers_with_other_tasks: Workers and their config offsets are the same, but other connectors or tasks run.
revoked_tasks: Generation {epoch:plain} revoked connectors or tasks, which this one hands out.
configs_differed: In generation {epoch:plain} workers had read different configurations, after which they
        rejoin.
delayed_rebalance: Generation {epoch:plain} scheduled it for {after:duration} later, because the tasks of a
        lost worker wait for its return.
primary: The primary is {member:member}.
workers: Now {workers:semicolons}.
worker_runs: {member:member} runs {tasks:tasks}
other_workers: {more:count more worker} have tasks
other_worker: 1 more worker has tasks
# brokers' logs
logged_departure: {who:clause} {how:clause}{others:clause}, as the broker logged{text:colon}.
who_member: Member {member:member}
who_instance: The member with instance id {instance:name}
who_unknown: A member
logged_left: left
logged_expired: sent no heartbeat for its session timeout
logged_timeout: did not complete its part of the rebalance in time
logged_removed: was removed by an administrator
logged_request: is gone after a LeaveGroup request, its own or an administrator's
logged_static_expired: had left temporarily and did not return in time
with_others: , with {more:plain} more
only_in_log: Only the broker's log shows it: {line:clause}.
may_be_text: The line follows one that ends with a client's text and may be part of that text.
logged_otherwise: The broker's log gives another reason for the same generation too.
id_never_joined: Member id {member:member} was issued but never joined: the join phase waited
        {waited:duration} for it, until its session expired.
lost_generation: Generation {last:plain} left no record; the broker logged what began it ({begun:semicolons}).
lost_generations: Generations {first:plain} to {last:plain} left no record; the broker logged what began them
        ({begun:semicolons}).
generation_prepared: {epoch:plain}: {text:text}
and_more: and {more:number} more
logged_join: {who:clause} joined{why:brackets}.
logged_static_join: Member {member:member} (instance {instance:name}) joined{why:brackets}.
logged_replacement: Instance {instance:name} rejoined as {member:member}{why:brackets}.
logged_downgrade: The consumer group became a classic group, which takes a rebalance.
over_capacity: A new coordinator had loaded more members than a group may have.
not_stored: The coordinator could not store the assignment of generation {epoch:plain}{error:brackets}, so it
        restarted the join phase.
leader_rejoined: The leader {member:member} rejoined{why:brackets}.
follower_rejoined: Member {member:member} rejoined{why:brackets}.
follower_other_topics: Member {member:member} rejoined{why:brackets} with different topics.
follower_revoked: Member {member:member} rejoined{why:brackets} after it had revoked partitions.
follower_other_metadata: Member {member:member} rejoined{why:brackets} with different metadata for the leader
        and the same topics.
follower_metadata: Member {member:member} rejoined{why:brackets} with different metadata than before and the
        same topics.
worker_other_metadata: Member {member:member} rejoined{why:brackets} with different metadata than before.
""")
"""Code -> template; `slots.py` has the types of slots."""
