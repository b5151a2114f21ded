"""What one record, or one line of a broker's log, shows."""

from typing import Final

from rebalance_audit.text_tables import texts_of

LOGGED: Final = "logged"
"""Code of what a broker's log shows; all others are of records."""

OF_EVIDENCE: Final = texts_of("""
logged: broker {broker:name} logged ({place:name}): {line:clause}
log_line: {kind:label}{member:blank}{instance:instance}{epoch:epoch}{text:colon}
logged_rebalance: rebalance: {text:text}
logged_rebalance_of: rebalance of generation {epoch:plain}: {text:text}
logged_member_out: member {member:member} is out ({text:text}), the record has it
logged_size: generation {epoch:plain} with {logged:count member}, the record has {recorded:plain}
logged_hash: epoch {epoch:plain} with metadata hash {logged:plain}, the record has {recorded:plain}
logged_refusal: member {member:member} was refused
# records of causes
bare_generation: generation {epoch:plain}
generation: generation {epoch:plain}: {what:clause}
generation_before: previous generation {epoch:plain}
first_after_downgrade: first generation after the downgrade
members: {members:count member}
no_member_left: no member is left
new_member: new member {member:member}
new_static_member: new member {member:member} (instance {instance:name})
different_topics: different topics
protocol_is: protocol {protocol:name}
replaces: {member:member} replaces {replaced:member}
same_members: same members
metadata_changed: metadata changed: {changes:list}
group_epoch: group epoch {epoch:plain}
first_member_is: first member {member:member}
topics_new: new topics: {topics:names}
fields_changed: changed: {fields:all}
subscribes_differently: {member:member} has a different subscription
member_tombstone: member tombstone
topic_metadata_record: topic metadata record
share_partitions: share partitions initialised
expression_matched: {expression:name} matches {topics:count topic}
# records of departures
last_generation_with: last generation with member {member:member}
last_record_of: last record of member {member:member}
asked_to_revoke: {member:member} was asked to revoke partitions
last_commit: last commit of {member:member}, for {partition:name}
last_commit_before: last commit of {member:member} before the stall
first_of_commits: the first of {times:number} commits
offset_moved_forward: {partition:name}: last commit by an owner, offset {committed:plain}; moved to
        {then:plain} without members
offset_moved_by_commits: {partition:name}: last commit by an owner, offset {committed:plain}; {times:count
        commit} without members moved it to {then:plain}
log_ends_before: {partition:name}: committed {committed:plain}; its log ends at {end:plain} later
log_starts_later: {partition:name}: committed {committed:plain}; its log starts at {start:plain} later
committed_lower: {partition:name}: committed {committed:plain}; the next owner commits {then:plain}
committed_unowned: {partition:name}: committed {times:times} after this without an owner
last_commit_of_group: last commit of the group, for {partition:name}
generation_without: a generation without member {member:member}
member_gone: member {member:member} is gone
# records of findings
epoch_by: epoch {epoch:plain}, {cause:label}
slow_since: {what:clause}, {lasted:clause}
had_not_revoked: {member:member} had not revoked them
removed_before_revoking: {member:member} was removed before it revoked its partitions
slow_to_revoke: {member:member} took long to revoke its partitions
on_its_way: {member:member} on its way to epoch {epoch:plain}
assigned_late: generation {epoch:plain} was assigned {sync:duration} after its join phase
asked_to_revoke_topics: {member:member} was asked to revoke {topics:names}
removed_later: {member:member} was removed {later:duration} later
session_expired: session of {member:member} expired
session_probably_expired: session of {member:member} probably expired
members_gone: {members:count member id} gone
went_and_came: {left:plain} left and {joined:plain} joined; {members:count member}
client_back: {client:clause} is back as {member:member}
instance: instance {instance:name}
client: client {client_id:client} on {host:host}
instance_moved: instance {instance:name} moved from {replaced:member} to {member:member}
got_partitions: {second:member} got {partitions:count partition} of {topics:names}, which {first:member} still
        has
assigned_twice: {partition:name} is assigned to {first:member} and {second:member}
anomaly: {text:text}
lacks_topic: the assignment lacks {topic:name}
assignment_began: the assignment took effect
moved_partitions: epoch {epoch:plain} moved {moved:plain} of {partitions:count partition}, about
        {needed:plain} needed
leader_epoch: first record with leader epoch {new:plain}, was {old:plain}
follows_epoch: epoch {epoch:plain}; the previous one in this log is {before:plain}
group_empty: the group is empty
both_protocols: members of both protocols from here on
subscribes_without_generation: {member:member} subscribes to {topics:names}; no new generation
quoted_resolved: {expression:quoted} was resolved
own_nothing: generation {epoch:plain}: {members:count continuing member} with no partitions
""")
"""Code -> template."""
