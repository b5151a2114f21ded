"""Sentences about the ends of members: what decided, named by an exclusion, or by the evidence and the kind of end."""

from collections.abc import Mapping
from typing import Final

from rebalance_audit.text_tables import texts_of

OF_DEPARTURES: Final = texts_of("""
heard_within_session: {member:member} was gone {heard:duration} after {sign:clause}, before its session of
        {sessions:durations} could expire.
committed_within_session: {commit:clause}. Each commit restarts its session timer ({sessions:durations}), so
        its session did not expire.
timing.member_left: {commit:clause}.
timing.member_session_expired: {commit:clause}. Its session timeout is {sessions:durations}.
timing.member_rebalance_timeout: {commit:clause}. The others waited for the whole rebalance timeout,
        {poll:duration}.
timing.member_removed_by_admin: {commit:clause}. It did not commit on close.
polled_late: {commit:clause}. A client that has not polled for max.poll.interval.ms leaves the group; it sends
        that interval as its rebalance timeout: {poll:duration}.
beat.member_left: {commit:clause}, only {pause:duration} after the commit before it, where {interval:duration}
        is usual: clients commit on close.
prior.member_left: {commit:clause}. Most members depart by leaving the group.
prior.member_session_expired: {commit:clause}. Static members rarely leave for good on their own.
moved.member_session_expired: {commit:clause}. The coordinator moved in between, which restarted all session
        timers.
comeback.member_removed_by_admin: {commit:clause}. Its client rejoined {back:duration} later, as a client does
        when it is removed while running.
comeback.member_session_expired: {commit:clause}, and rejoined under its own member id {back:duration} later.
        A client that closes does not rejoin: its session expired.
comeback.member_left: {commit:clause}. Its client did not rejoin at once, as a removed one would.
timer.member_session_expired: Member {member:member} was gone {heard:duration} after its last heartbeat on
        record, when its session expired.
held.member_rebalance_timeout: Member {member:member} kept partitions that it had to revoke for its whole
        rebalance timeout, {poll:duration}.
answers.member_session_expired: Member {member:member} {answers:clause}: it was no longer running.
never_answered: did not react to a new target assignment before it was gone
client_back_first: was still a member when its client rejoined
one_request.member_removed_by_admin: Member {member:member} was removed with {others:count other member} in
        one request: a batch removal.
after_leave.member_left: Member {member:member} was gone {after:duration} after another member had left: the
        application was shut down.
company.member_left: {commit:clause}. {together:count other member} left with it: the application was shut
        down.
company.member_session_expired: {commit:clause}. {together:count other member} died with it.
company.member_removed_by_admin: {commit:clause}. {together:count other member} disappeared with it: a batch
        removal.
undecided: Member {member:member} is gone; the log does not show how: {ends:ends}.
static_expired: Static member {member:member} had left temporarily (epoch -2), and its session expired before
        it returned.
# clauses
sign_join_phase: the previous join phase
sign_record: its last record
no_commit_since: {member:member} was gone {seen:duration} after {sign:clause}, with no commit since
committed_before: {member:member} committed at {at:clock}, {since:duration} before it was removed
last_committed: {member:member} last committed at {at:clock}{habit:clause}; then nothing for {since:duration}
        until it was removed
committed_every: , as every {interval:duration} before
never_paused: , and had never paused for more than {longest:duration} before
""")
"""Code -> template."""

ENDS: Final[Mapping[str, str]] = {
    "member_left": "it left",
    "member_session_expired": "its session expired",
    "member_rebalance_timeout": "it did not rejoin in time",
    "member_removed_by_admin": "an administrator removed it",
}
"""Cause -> how a member ended."""
