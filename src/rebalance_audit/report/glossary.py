"""The words of the tables, the texts and the page, for `docs/glossary.md` and the page itself."""

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """A word and what it means, with **, * and ` as in Markdown; `more` is a file below `docs/`."""

    word: str
    meaning: str
    more: str = ""


_MEANINGS: Final = {
    "**epoch**": (
        "One value of a group's counter: a *generation* of a classic group, a *group epoch* of a consumer, share or "
        "streams group. The column `epoch` holds either."
    ),
    "**generation**": (
        "Classic protocol only: one completed join phase. Its record is written when the leader's assignment is "
        "stored."
    ),
    "**group epoch**": (
        "Consumer protocol (also share and streams): raised by the coordinator for each change of members, "
        "subscriptions or topics, in its own record."
    ),
    "**assignment epoch**": "The group epoch of the target assignment that is installed. It follows the group epoch.",
    "**member epoch**": (
        "The assignment epoch that a member has reached. It follows the assignment epoch; -1 and -2 mark a member that "
        "left, or left for a while (static)."
    ),
    "**target assignment**": (
        "What each member should have, as computed for an assignment epoch. A member's *current assignment* is what it "
        "has."
    ),
    "**reach, convergence**": (
        "A member reaches an epoch when its current assignment is stable at that epoch or a later one and nothing is "
        "pending. An epoch has converged when every member has reached it. Classic: when the record of the generation "
        "is written."
    ),
    "**superseded**": "The next epoch began before this one had converged.",
    "**join phase, sync phase**": (
        "Classic: from the first JoinGroup of a rebalance to the last, and from then to the leader's assignment. The "
        "log holds the length of the sync phase (`sync_ms`), of the join phase bounds only."
    ),
    "**rebalance**": (
        "From the moment a group leaves *Stable* to the moment it is stable again. It may span several epochs."
    ),
    "**unowned**": (
        "A partition that is subscribed to but in no current assignment; *unowned time* is how long. In the consumer "
        "protocol a member that died keeps its partitions until it is removed, and so does a static member that left "
        "temporarily: such time is not counted, so the sum of such a group is a lower bound."
    ),
    "**protocol type**": (
        "What a classic group is for: `consumer`, `connect` (Kafka Connect), `sr` (schema registries), or a name that "
        "another application chose. Only consumers own partitions. What the others have is their *work*: connectors "
        "and tasks, the primary."
    ),
    "**Unknown**": (
        "State of a group whose records do not show it: from one that cannot be decoded to the next one that can, and "
        "where it has members but no record shows its epoch, as after compaction."
    ),
    "**bump**": "Kafka's word for raising the group epoch.",
    "**moved**": "A partition whose target is another member than in the epoch before.",
    "**incarnation**": (
        "Counts the lives of a group id: 0, and one more after each deletion. Epochs are unique within one."
    ),
    "**write**": (
        "The records of one group with one timestamp and contiguous offsets: the trace of one request or timer. Causes "
        "are judged per write."
    ),
    "**cause**": "What brought an epoch about, from a closed list. The first cause of an epoch is its *primary* one.",
    "**shape** of a topic": (
        "Its partitions and racks from one record of the cluster's metadata log on (`gold.topics`). Groups record a "
        "hash of the shapes of the topics they subscribe to."
    ),
    "**role** of a cause": (
        "*began*: it began the epoch, or may have. *Meanwhile*: it happened in the epoch, in a classic group in its "
        "join phase, which something else had begun."
    ),
    "**certainty**": (
        "*Proven*: the records admit no other cause. *Probable*: timing and pattern favour it, the alternatives are "
        "listed. *Possible*: one of several."
    ),
    "**evidence**": (
        "The records that decided a cause, as `partition@offset` of `__consumer_offsets`, and lines of brokers' logs."
    ),
    "**completeness**": "*Complete*, or *gap*: compaction or a missing stretch of log removed evidence of the epoch.",
    "**finding**": "What deserves attention in a group's history: a storm, a stuck group, a flapping member.",
    "**departed**": "A member is gone, and the records do not show whether it left, expired or was removed.",
    "**dynamic, static member**": (
        "A static member has an instance id (`group.instance.id`, KIP-345) and keeps it over several member ids."
    ),
    "**tombstone**": "A record without a value: it deletes its key.",
    "**replay**": (
        "Applying records to a group's state as the coordinator does when it loads the log. The audit reads the "
        "*changes* that replay reports."
    ),
    "**dialect**": "The record layouts of the release that wrote the log, recognised by the bytes of each record.",
    "**snapshot**": "The state of a group's audit at the end of a run, from which the next run resumes.",
    "**lake, cluster**": (
        "A folder or catalog of Delta tables, and the name of a Kafka cluster in it: the first column of every table."
    ),
    "**segment**": "A `.log` file of a partition, as brokers write it.",
    "**quarantine**": "The table of what could not be decoded, with its bytes.",
}
_FILES: Final = {
    "**cause**": "causes.md",
    "**finding**": "findings.md",
    "**snapshot**": "snapshots.md",
}
GLOSSARY: Final = tuple(
    Entry(word, meaning, _FILES.get(word, "")) for word, meaning in _MEANINGS.items()
)
