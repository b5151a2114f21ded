"""What the records do not show about a group or an epoch, and what would: sentences for `explain`."""

from collections.abc import Iterator, Sequence
from typing import Final

from rebalance_audit.figures.present import present_of
from rebalance_audit.figures.rows import TableRow, Tables, epoch_noun, is_classic, kept_unused
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import MomentUtc, Sentence

_DEPARTURE_CAUSES: Final = frozenset(
    {"member_departed", "member_left", "member_session_expired", "member_removed_by_admin"}
)


def _is_logged(generation: TableRow) -> bool:
    """Whether the begin of the join phase is known: from a broker's log, or since the records leave one moment only."""
    earliest = generation["join_started_earliest"]
    return earliest is not None and earliest == generation["join_started_latest"]


def _may_have_gone_otherwise(cause: TableRow) -> bool:
    """Whether it is open how a member went."""
    others = {*(cause["alternatives"] or ()), cause["cause"]} & _DEPARTURE_CAUSES
    return cause["cause"] == "member_departed" or (
        cause["cause"] in _DEPARTURE_CAUSES and len(others) > 1
    )


ADVICE: Final = Sentence.plain(
    "The log of the broker that coordinated the group would settle it: --broker-log server.log."
)


def log_would_settle(epoch: TableRow, its_causes: Sequence[TableRow]) -> bool:
    """Whether the broker logs what the records leave open: what began a generation, or how a member ended."""
    first = next((row for row in its_causes if row["cause_seq"] == 0), None)
    if first is None or first["certainty"] == "proven":
        return False
    return is_classic(epoch) or _may_have_gone_otherwise(first)


def advice_for_group(own: Tables) -> Iterator[Sentence]:
    """What a broker's log would settle, if it would settle anything."""
    causes_of: dict[tuple[int, int], list[TableRow]] = {}
    for row in own["rebalance_causes"]:
        causes_of.setdefault((row["incarnation"], row["epoch"]), []).append(row)
    epochs = own["epochs"]
    open_ones = sum(
        log_would_settle(row, causes_of.get((row["incarnation"], row["epoch"]), ()))
        for row in epochs
    )
    if open_ones:
        count = words.counted(open_ones, epoch_noun(epochs))
        yield Sentence.plain(
            f"What began {count} of {len(epochs):,} is not proven: the log of the broker that coordinated the group "
            "would settle it (--broker-log server.log)."
        )


def _where_to_look(*, has_broker_log: bool) -> str:
    if has_broker_log:
        return " The brokers' logs that were given do not say."
    return " The brokers' logs would say (--broker-log)."


def unknowns_of_epoch(
    epoch: TableRow, its_causes: Sequence[TableRow], *, has_broker_log: bool = False
) -> Iterator[Sentence]:
    """Of one epoch or generation with its rows of gold.rebalance_causes."""
    if is_classic(epoch) and not _is_logged(epoch):
        yield Sentence.plain(
            "When exactly the join phase began and whom it waited for: a classic generation leaves one record, at "
            f"its end.{_where_to_look(has_broker_log=has_broker_log)}"
        )
    if epoch["completeness"] == "gap":
        yield Sentence.plain("What happened right before: records are missing from the log there.")
    if any(map(_may_have_gone_otherwise, its_causes)):
        yield Sentence.plain(
            "Whether the member left, expired or was removed: all of them write the same records."
            f"{_where_to_look(has_broker_log=has_broker_log)}"
        )
    if not is_classic(epoch) and epoch["target_installed_at"] is None and epoch["members"]:
        yield Sentence.plain("What assignment it would have had: no target was computed for it.")


def unknowns_of_group(own: Tables, *, has_broker_log: bool = False) -> Iterator[Sentence]:
    """Of the group whose rows `own` holds."""
    if any(is_classic(row) and not _is_logged(row) for row in own["epochs"]):
        yield Sentence.plain(
            "When the join phases of classic generations began, and whom they waited for: each leaves one record, at "
            "its end, so durations lie between two bounds."
            f"{_where_to_look(has_broker_log=has_broker_log)}"
        )
    now = present_of(own["group_states"])
    if now is not None and now.silent_since_ms is not None and now.coordinator_state is None:
        yield Sentence(
            (
                "Whether it is rebalancing now: no member has committed since ",
                MomentUtc(now.silent_since_ms),
                ", perhaps for lack of records. A classic group writes nothing until its join phase ends.",
            )
        )
    gaps = sum(row["completeness"] == "gap" for row in own["epochs"])
    if gaps:
        count = words.counted(gaps, epoch_noun(own["epochs"]))
        yield Sentence.plain(
            f"What happened before {count}: records are missing from the log there."
        )
    if any(map(kept_unused, own["members"])):
        yield Sentence.plain(
            "How long partitions stood still with members that were dead, or with static members that were away: they "
            "keep their partitions until they are removed, and that time does not count as without owner."
        )
    if any(map(_may_have_gone_otherwise, own["rebalance_causes"])):
        yield Sentence.plain(
            "Whether members left, expired or were removed, where the times do not show it: all of them write the "
            "same records."
        )
