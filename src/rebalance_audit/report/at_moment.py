"""A group at a time in the past: its state, its members and what they had."""

from collections.abc import Iterator

from rebalance_audit.audit.verdicts.cause import DEPARTURES
from rebalance_audit.figures.rows import TableRow, Tables, is_classic, is_share
from rebalance_audit.replay.describe import UNKNOWN
from rebalance_audit.report.epoch_sentences import partitions_text
from rebalance_audit.sentences import words
from rebalance_audit.sentences.render import filled
from rebalance_audit.sentences.sentence import MemberId, Sentence

MEMBERS_SHOWN = 20


def sentences_at(own: Tables, moment_ms: int) -> Iterator[Sentence]:
    """`own` holds the rows of one group; the result is empty where the group did not exist yet."""
    states = [row for row in own["group_states"] if row["from_at"] <= moment_ms]
    last = max(
        states,
        key=lambda row: (row["incarnation"], row["from_at"], row["from_offset"]),
        default=None,
    )
    if last is None:
        return
    if last["to_at"] is not None and last["to_at"] <= moment_ms:
        yield filled("The group did not exist: it was deleted at {to_at:moment}.", last)
        return
    yield _state(own, last, moment_ms)
    shared = is_share(last)
    yield from _members(own, last["incarnation"], moment_ms, shared=shared)


def _state(own: Tables, state: TableRow, moment_ms: int) -> Sentence:
    if state["group_state"] == UNKNOWN and state["members"] is not None:
        return Sentence.plain(
            "The group's state is unknown: the log no longer has the record of the epoch it was at."
        )
    if state["group_state"] == UNKNOWN:
        return filled(
            "The group's state is unknown since {from_at:moment}: the record at offset {from_offset} of partition "
            "{log_partition} cannot be decoded.",
            state,
        )
    if state["protocol"] != "classic":
        return filled("The group was {group_state}, since {from_at:moment}.", state)
    of_life = (row for row in own["epochs"] if row["incarnation"] == state["incarnation"])
    later = (row for row in of_life if is_classic(row) and row["epoch"] > state["epoch"])
    following = min(later, key=lambda row: row["epoch"], default=None)
    stood = filled(
        "The group was {group_state} in generation {epoch}, since {from_at:moment}", state
    )
    latest_ms = None if following is None else following["join_started_latest"]
    if following is None or latest_ms is None:
        return Sentence((stood, "."))
    earliest_ms = following["join_started_earliest"]
    if latest_ms <= moment_ms:
        followed = (
            "The group was rebalancing: generation {epoch} followed at {converged_at:moment}."
        )
        return filled(followed, following)
    if earliest_ms is None or earliest_ms <= moment_ms:
        return filled(
            "{stood}, or was already rebalancing: the join phase of generation {epoch} began at "
            "{join_started_latest:moment} at the latest, and no record says when.",
            following,
            stood=stood,
        )
    return Sentence((stood, "."))


def _members(own: Tables, incarnation: int, moment_ms: int, *, shared: bool) -> Iterator[Sentence]:
    """Who was there, with what; members of a share group have partitions in common, which is not in ownership."""
    current, in_epoch = _epoch_with_members(own, incarnation, moment_ms)
    had: dict[str, list[TableRow]] = {
        row["member_id"]: []
        for row in own["members"]
        if row["incarnation"] == incarnation
        and row["first_seen_at"] <= moment_ms
        and (row["left_at"] is None or row["left_at"] > moment_ms)
        # An id that left and came back has one row, which does not show when it was away.
        and (row["stints"] == 1 or row["member_id"] in in_epoch or row["first_epoch"] == current)
    }
    for row in own["ownership"]:
        over = row["to_at"] is not None and row["to_at"] <= moment_ms
        if row["from_at"] is not None and row["from_at"] <= moment_ms and not over:
            had.setdefault(row["member_id"], []).append(row)
    for member_id in sorted(had)[:MEMBERS_SHOWN]:
        if shared:
            yield Sentence((MemberId(member_id), " was a member."))
        else:
            partitions = partitions_text(had[member_id]) or "no partition"
            yield Sentence((MemberId(member_id), " had ", partitions, "."))
    if len(had) > MEMBERS_SHOWN:
        yield Sentence.plain(f"… and {words.counted(len(had) - MEMBERS_SHOWN, 'more member')}.")


def _epoch_with_members(
    own: Tables, incarnation: int, moment_ms: int
) -> tuple[int | None, set[str]]:
    """The epoch of that time and the member ids that it certainly had.

    Members without a row in it are those of their last row, if no cause says since then that they left.
    """
    begun = [
        row["epoch"]
        for row in own["epochs"]
        if row["incarnation"] == incarnation
        and (at_ms := row["converged_at" if is_classic(row) else "started_at"]) is not None
        and at_ms <= moment_ms
    ]
    current = max(begun, default=None)
    if current is None:
        return None, set()
    latest: dict[str, TableRow] = {}
    for row in own["convergence"]:
        before = latest.get(row["member_id"])
        if row["incarnation"] != incarnation or row["epoch"] > current:
            continue
        if before is None or before["epoch"] < row["epoch"]:
            latest[row["member_id"]] = row
    left = {
        row["member_id"]
        for row in own["rebalance_causes"]
        if row["incarnation"] == incarnation
        and row["member_id"] in latest
        and latest[row["member_id"]]["epoch"] < row["epoch"] <= current
        and row["cause"] in DEPARTURES
    }
    return current, {
        member_id
        for member_id, row in latest.items()
        if member_id not in left and (row["outcome"] != "left" or row["epoch"] == current)
    }
