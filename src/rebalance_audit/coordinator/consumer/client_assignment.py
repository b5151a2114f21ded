"""Targets computed by a member: which member is asked, what it is given, and whether its result is accepted.

There is one run at a time (KIP-848, Client Side Mode). A member that is asked has its rebalance timeout to deliver the
target; after that another one is asked, and the first is not fenced for it. A result is validated against what its
member was given, and installed even if the group has changed since: then the next run begins.
"""

from collections.abc import Sequence

from rebalance_audit.coordinator.client_side.choice import (
    ClientChoice,
    ClientRun,
    PreparedFacts,
    choose_client_assignor,
    offered,
)
from rebalance_audit.coordinator.consumer.heartbeat import response_partitions
from rebalance_audit.coordinator.consumer.targets import topic_ids_of, topic_names_of
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.handling import (
    ErrorCode,
    RefusedError,
    TimerKind,
    TopicDescription,
)
from rebalance_audit.coordinator.requests.consumer import (
    ConsumerGroupInstallAssignmentRequest,
    ConsumerGroupPrepareAssignmentRequest,
    ConsumerGroupPrepareAssignmentResponse,
    InstalledMember,
    PreparedAssignor,
    PreparedMember,
    PreparedTopic,
)
from rebalance_audit.replay.groups import ClientAssignorResult, ModernMember
from rebalance_audit.replay.partitions import Partitions, Topic, partitions_of

NO_RESULT = ClientAssignorResult(0, 0, b"")


def should_compute(
    work: Work, group_epoch: int, assignment_epoch: int, heard: ModernMember
) -> bool:
    """Whether this member must run the assignor; chooses it where none is chosen, and starts its timeout.

    Every heartbeat response repeats it until the member asks for the group, since a response may be lost.
    """
    soft = work.soft
    if assignment_epoch >= group_epoch:
        # A server-side assignor was quicker: the result of this run would be for an older epoch.
        _stop(work)
        return False
    members = work.members_with(heard)
    choice = choose_client_assignor(members.values())
    if choice is None:
        _stop(work)
        return False
    run = soft.client_run
    if run is None or run.assignor_name != choice.assignor_name or run.member_id not in members:
        _stop(work)
        run = soft.client_run = _start(choice, frozenset() if run is None else run.failed)
    if run.member_id != heard.member_id or run.facts is not None:
        return False
    if not run.notified:
        run.notified = True
        work.arm(TimerKind.CLIENT_ASSIGNOR, heard.rebalance_timeout_ms, heard.member_id)
    return True


def time_is_up(work: Work, member_id: str) -> None:
    """The member did not deliver in time: the next one is chosen and learns of it with its next heartbeat."""
    run = work.soft.client_run
    if run is None or run.member_id != member_id:
        return
    choice = choose_client_assignor(work.group.members.values())
    work.soft.client_run = None if choice is None else _start(choice, run.failed | {member_id})


def _start(choice: ClientChoice, failed: frozenset[str]) -> ClientRun:
    fresh = [member_id for member_id in choice.runners if member_id not in failed]
    if not fresh:
        return ClientRun(choice.assignor_name, choice.runners[0])
    return ClientRun(choice.assignor_name, fresh[0], failed)


def _stop(work: Work) -> None:
    run, work.soft.client_run = work.soft.client_run, None
    if run is not None and run.notified:
        work.cancel(TimerKind.CLIENT_ASSIGNOR, run.member_id)


def _run_of(
    work: Work,
    request: ConsumerGroupPrepareAssignmentRequest | ConsumerGroupInstallAssignmentRequest,
) -> ClientRun:
    """Raises RefusedError (UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH)."""
    member = work.member(request.member_id)
    if member.member_epoch != request.member_epoch:
        raise RefusedError(
            ErrorCode.STALE_MEMBER_EPOCH,
            f"The member epoch is {member.member_epoch}, not {request.member_epoch}.",
        )
    run = work.soft.client_run
    if run is None or run.member_id != request.member_id:
        raise RefusedError(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {request.member_id} was not asked to compute the assignment.",
        )
    return run


def prepare(
    work: Work, request: ConsumerGroupPrepareAssignmentRequest
) -> ConsumerGroupPrepareAssignmentResponse:
    """Give the chosen member the group as it is now. Raises RefusedError as `_run_of` does."""
    run = _run_of(work, request)
    group, image = work.group, work.image
    names = {
        name for each in group.members.values() for name in topic_names_of(each, group.regexes)
    }
    topics = [topic for name in sorted(names) if (topic := image.topic(name)) is not None]
    instances = {member.member_id: member.instance_id for member in group.members.values()}
    run.facts = PreparedFacts(work.group_epoch, instances, _partitions(topics))
    return ConsumerGroupPrepareAssignmentResponse(
        group_epoch=work.group_epoch,
        assignor_name=run.assignor_name,
        members=tuple(
            _prepared(work, member, run.assignor_name) for member in group.members.values()
        ),
        topics=tuple(
            PreparedTopic(topic.topic_id, topic.name, len(topic.partition_racks))
            for topic in topics
        ),
    )


def _partitions(topics: Sequence[TopicDescription]) -> Partitions:
    return partitions_of((topic.topic_id, range(len(topic.partition_racks))) for topic in topics)


def _prepared(work: Work, member: ModernMember, assignor_name: str) -> PreparedMember:
    offer = offered(member, assignor_name)
    sent = (0, 0, b"") if offer is None else (offer.reason, offer.version, offer.metadata)
    return PreparedMember(
        member.member_id,
        member.member_epoch,
        member.instance_id,
        member.rack_id,
        topic_ids_of(member, work.group.regexes, work.image),
        PreparedAssignor(*sent),
        response_partitions(work.group.target_of(member.member_id)),
    )


def install(work: Work, request: ConsumerGroupInstallAssignmentRequest) -> None:
    """Accept the member's result; drafts [7]* [6]. Raises RefusedError as `_run_of` does, and INVALID_ASSIGNMENT.

    If the assignor reports an error, every member keeps its target and gets the error.
    """
    run = _run_of(work, request)
    if run.facts is None or run.facts.group_epoch != request.group_epoch:
        raise RefusedError(
            ErrorCode.INVALID_ASSIGNMENT,
            f"Nothing was prepared for group epoch {request.group_epoch}.",
        )
    if request.error:
        _keep_targets(work, request.error)
    else:
        _require_whole(run.facts, request.members)
        for installed in request.members:
            _draft_target(work, installed, run.facts.members[installed.member_id])
    work.records.append(work.drafts.target_epoch(request.group_epoch, work.now_ms))
    _stop(work)


def _keep_targets(work: Work, error: int) -> None:
    group = work.group
    for member_id in group.members:
        known = group.target_results.get(member_id, NO_RESULT)
        result = known._replace(error=error)
        work.records.append(work.drafts.target(member_id, group.target_of(member_id), result))


def _draft_target(work: Work, installed: InstalledMember, instance_id: str | None) -> None:
    """Draft a member's target; a member that left while the assignor ran gets none.

    A static member that came back meanwhile under another id gets its share: its return bumped no epoch, so no other
    target would be computed for it.
    """
    group, member_id = work.group, installed.member_id
    if member_id not in group.members:
        successor = work.static_member(instance_id)
        if successor is None:
            return
        member_id = successor.member_id
    share = partitions_of(installed.topic_partitions)
    result = ClientAssignorResult(0, installed.metadata_version, installed.metadata_bytes)
    unchanged = (
        group.targets.get(member_id) == share
        and group.target_results.get(member_id, NO_RESULT) == result
    )
    if not unchanged:
        work.records.append(work.drafts.target(member_id, share, result))


def _require_whole(facts: PreparedFacts, members: Sequence[InstalledMember]) -> None:
    """Require that each partition is assigned once, to a member of the group, judged by what the assignor was given."""
    given: dict[Topic, set[int]] = {}
    seen: set[str] = set()
    for member in members:
        if member.member_id not in facts.members or member.member_id in seen:
            raise _invalid(f"Member {member.member_id} is unknown or named twice.")
        seen.add(member.member_id)
        for topic, numbers in member.topic_partitions:
            known = given.setdefault(topic, set())
            if len(set(numbers)) != len(numbers) or known & set(numbers):
                raise _invalid("A partition is assigned more than once.")
            known.update(numbers)
    if {topic: numbers for topic, numbers in given.items() if numbers} != facts.partitions:
        raise _invalid("Not all partitions of the subscribed topics, or others, are assigned.")


def _invalid(message: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_ASSIGNMENT, message)
