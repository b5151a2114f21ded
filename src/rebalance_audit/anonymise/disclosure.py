"""What an anonymised log still shows, and where its audit may differ: for whoever decides whether to give it away."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rebalance_audit.anonymise.log import Anonymised
from rebalance_audit.sentences import words

STILL_VISIBLE: Final = (
    "how many groups, members, topics, partitions and hosts there are, and which of them go together",
    "when each record was written, to the millisecond, from the first to the last",
    "committed offsets, and so how much is read and when",
    "how many bytes of user data there are, where no known protocol explains them",
    "generations, epochs, timeouts, versions of protocols, Kafka's own assignors, and the kind of each group",
    "numbers below 1000 at the end of client ids, ids of brokers and producers, ports",
    "in which partition of __consumer_offsets a group is, and so the hash of its id modulo their number",
    "that two ids of clients have the same beginning, or a member id begins with a client id",
)
"""The same for every log."""

STILL_VISIBLE_SHIFTED: Final = (
    "how much time is between two records, and the minute of the hour: the shift is in hours"
)
"""In place of the second with shifted times."""

MAY_DIFFER: Final = {
    "epochs, rebalances: slowest_member_id": "of members that are equally slow, the first by name is named",
    "all tables: order of names in lists and sentences": "lists are in order of names",
    "findings: finding_id": "it is made of the name of the group",
    "topics: topic_hash": "it is made of the topic's name and id",
    "with --broker-log: what rests on a line that may be a client's text": (
        "it is left out where it would look certain in the copy"
    ),
    "what is said of bytes that cannot be read": "other bytes stand for them, and damage is left out",
}
"""Column of the audit -> why its value may be other than the pseudonym of the original's."""


def disclosure_summary(found: Anonymised, out: Path) -> dict[str, Any]:
    """The report for programs, which is also left beside the segments."""
    return {
        "out": str(out),
        "records": found.records,
        "segments": found.segments,
        "broker_log_lines": found.lines,
        "offsets_partitions": found.offsets_partitions,
        "offsets_partitions_known": found.partitions_known,
        "times_shifted": found.times_shifted,
        "replaced": dict(found.replaced),
        "left_out": dict(found.left_out),
        "still_visible": list(still_visible(found)),
        "may_differ": dict(MAY_DIFFER),
    }


def still_visible(found: Anonymised) -> tuple[str, ...]:
    """What the log still shows: a clause each."""
    if not found.times_shifted:
        return STILL_VISIBLE
    first, _, *others = STILL_VISIBLE
    return (first, STILL_VISIBLE_SHIFTED, *others)


def disclosure_text(found: Anonymised, out: Path) -> str:
    """The report for people."""
    counted = (
        words.counted(found.records, "record"),
        words.counted(found.segments, "segment"),
    )
    lines = f", {words.counted(found.lines, 'line')} of brokers' logs" if found.lines else ""
    return "\n".join(
        (
            f"{out}: {' in '.join(counted)}{lines}",
            *_listed("Replaced", found.replaced),
            *_listed("Left out", found.left_out),
            *([] if found.partitions_known else [_assumed(found)]),
            "Still visible:",
            *(f"  {clause}" for clause in still_visible(found)),
            "An audit of it is the same under other names, except for:",
            *(f"  {where}: {why}" for where, why in MAY_DIFFER.items()),
        )
    )


def _assumed(found: Anonymised) -> str:
    return (
        f"Partitions of __consumer_offsets: {found.offsets_partitions} assumed, since no metadata log says how many."
        " With another number some groups are in partitions where no broker looks for them: give --offsets-partitions."
    )


def _listed(title: str, counts: Mapping[str, int]) -> list[str]:
    if not counts:
        return []
    return [f"{title}:", *(f"  {what}: {count:,}" for what, count in counts.items())]
