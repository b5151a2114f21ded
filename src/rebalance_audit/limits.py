"""What input from outside may cost, in one table: how much is read, kept or compared, and what happens beyond.

Everything else is linear in the bytes of the input, whatever numbers stand in them. `docs/limits.md` is made of this
table.
"""

from typing import Final, NamedTuple


class Limit(NamedTuple):
    """One limit."""

    what: str
    most: int
    unit: str
    """`bytes`, `deep` or a plural."""
    beyond: str
    """What happens to the rest: one clause."""
    reason: str
    """One sentence."""


LOG_PARTITIONS: Final = Limit(
    "number of a partition folder",
    (1 << 31) - 1,
    "",
    "the folder is not read, and a note names it",
    "Kafka's partition numbers have 32 bits.",
)
BATCH_BYTES: Final = Limit(
    "a batch in the file",
    128 << 20,
    "bytes",
    "damage: quarantine with the reason `not_a_batch`, and the search for the next batch",
    "`max.message.bytes` is 1 MiB by default.",
)
DECOMPRESSED_BYTES: Final = Limit(
    "a batch, decompressed",
    128 << 20,
    "bytes",
    "quarantine with the reason `bad_compression`",
    "A coordinator makes no batch that is larger than it could write without compression.",
)
DECOMPRESSED_RATIO: Final = Limit(
    "a batch, decompressed, for each compressed byte beyond the first 64 KiB",
    1 << 10,
    "bytes",
    "quarantine with the reason `bad_compression`",
    "Members with equal subscriptions compress to a few hundredths; gzip ends at about 1030.",
)
DECOMPRESSED_BYTES_FREE: Final = 64 << 10
"""A batch may decompress to so many bytes at any ratio."""
BATCH_RECORDS: Final = Limit(
    "records of a batch",
    1 << 18,
    "records",
    "quarantine with the reason `bad_records`",
    "A batch of 1 MiB has room for some 20,000 offset commits.",
)
SEARCH_BYTES: Final = Limit(
    "checksums in one search for the next batch after damage",
    1 << 30,
    "bytes",
    "the rest of the file is damage",
    "False headers must not make the search quadratic.",
)
RAW_BYTES: Final = Limit(
    "a damaged stretch, as kept in quarantine",
    1 << 20,
    "bytes",
    "only its beginning is kept; the file has the rest",
    "A batch of Kafka's default size limit fits whole.",
)
PORTION_BYTES: Final = Limit(
    "records that one worker hands over at once",
    32 << 20,
    "bytes",
    "another portion, without loss",
    "Memory depends on the largest batch, not on the file.",
)
KEPT_BYTES: Final = Limit(
    "group records that wait in memory until all topics have names",
    128 << 20,
    "bytes",
    "the rest of the log is read a second time",
    "As above.",
)
PAYLOAD_BYTES: Final = Limit(
    "decoded subscriptions, and assignments, that are remembered",
    4 << 20,
    "bytes",
    "those used least recently are decoded again",
    "A client decides how long they are.",
)
KEY_BYTES: Final = Limit(
    "a record's key that is remembered with what it decodes to",
    512,
    "bytes",
    "it is decoded each time",
    "As above; 32,768 shorter keys are remembered.",
)
QUIET_EPOCHS: Final = Limit(
    "epochs of one rebalance in which findings examine every member that has no record",
    100,
    "epochs",
    "20 of these members are examined in each further epoch, and the others are counted",
    "Members times epochs is quadratic in the log.",
)
QUIET_MEMBERS: Final = 20
"""See QUIET_EPOCHS."""
AWAITED_EPOCHS: Final = Limit(
    "superseded epochs of one group that wait for their target assignment",
    1_000,
    "epochs",
    "further ones get no `target_installed_at`",
    "A group that joins at once has hundreds within one assignment interval.",
)
AWAITED_MEMBERS: Final = Limit(
    "members for which a group waits at the end of the log",
    100,
    "members",
    "the others are counted in `awaited_members`",
    "Before the first heartbeat after a change the group waits for all its members.",
)
DEPLOYMENTS: Final = Limit(
    "deployments of one group that are followed at once",
    100,
    "deployments",
    "the one quiet for longest is forgotten",
    "Each costs time in each epoch; client ids decide how many there are.",
)
ALIKE_EXPRESSIONS: Final = Limit(
    "findings `regexes_alike` in one life of a group",
    1_000,
    "findings",
    "further ones are not reported",
    "An expression may have 32 kB, and a snapshot knows those that were reported.",
)
SERIES: Final = Limit(
    "findings of one group that wait for repetitions",
    1_000,
    "findings",
    "the one quiet for longest is reported at once",
    "Subjects of findings are names of clients.",
)
BLOCKERS: Final = Limit(
    "members in `blocked_by` of one rebalance",
    1_000,
    "members",
    "further ones are left out",
    "In a group that never becomes stable, every client that comes and goes adds one.",
)
HOURS: Final = Limit(
    "rows of `gold.group_hours` for one rebalance, or one stretch without owner",
    9_000,
    "hours",
    "further hours have none",
    "A stretch of more than a year is a wrong clock, or an abandoned group.",
)
BROKER_LOG_LINE_BYTES: Final = Limit(
    "a line of a broker's log, before the coordinator's mark and again after it",
    64 << 10,
    "bytes",
    "the rest of the line is not read; lines cut short are counted",
    "Lines of a coordinator are short; a log shipper may put many into one document.",
)
ARCHIVE_FILES: Final = Limit(
    "files in an archive that is given with `--broker-log` or `--deploys`",
    20_000,
    "files",
    "the file is refused",
    "Ten brokers' logs of every hour for a month are 7,200; names of empty files compress a thousand times.",
)
ARCHIVE_HEADER_BYTES: Final = Limit(
    "a header of a tar: a long name, or fields of a file",
    1 << 20,
    "bytes",
    "the file is refused",
    "A path has at most 4,096 bytes; a header is read whole.",
)
ARCHIVE_DIRECTORY_BYTES: Final = Limit(
    "the directory of a zip",
    16 << 20,
    "bytes",
    "the file is refused",
    "Names and places of 20,000 files take some 3 MB; a directory is read whole.",
)
ARCHIVE_SEGMENTS: Final = Limit(
    "segments in an archive",
    100_000,
    "files",
    "the archive is refused",
    "Names of empty files compress a thousand times.",
)
BROKER_LOG_EXPANSION: Final = Limit(
    "a broker's log, a file of `--deploys` or an archive of segments, unpacked beyond 64 MiB, for each packed byte",
    300,
    "bytes",
    "the file is refused",
    "Logs unpack to 10 to 100 times their size; bombs start at 1,000.",
)
BROKER_LOG_BYTES_FREE: Final = 64 << 20
"""A broker's log may unpack to so many bytes at any ratio."""
BROKER_LOG_NESTING: Final = Limit(
    "archives and compressed files inside each other",
    3,
    "deep",
    "the file is refused",
    "A tar of gzip files is two deep.",
)
AGENT_CONNECTIONS: Final = Limit(
    "connections of `mcp --http-port` at once",
    32,
    "connections",
    "the one that was silent for longest is closed; where all have asked, the new one",
    "Each costs memory, and whoever opens one needs no token.",
)
AGENT_HEAD_SECONDS: Final = Limit(
    "time until the head of a request has come, from the begin of its connection",
    5,
    "seconds",
    "the connection is closed",
    "Idle connections would keep others out.",
)
SCRIPT_BYTES: Final = Limit(
    "a script of `what-if`",
    64 << 20,
    "bytes",
    "the file is refused",
    "The 100,000 processes that are simulated take some 10 MB.",
)
WHAT_IF_PARTITIONS: Final = Limit(
    "partitions of all topics that `what-if` simulates",
    20_000,
    "partitions",
    "the group is refused with a sentence; `predict` goes on with the next",
    "Each is assigned anew in every rebalance of every run.",
)
WHAT_IF_INSTANCES: Final = Limit(
    "instances of one group that `what-if` simulates",
    10_000,
    "instances",
    "as above",
    "As many as `--members` takes.",
)
WHAT_IF_PROCESSES: Final = Limit(
    "processes and events of one group that `what-if` simulates",
    100_000,
    "processes and events",
    "as above",
    "Each may begin a rebalance.",
)
WHAT_IF_DAYS: Final = Limit(
    "window of one group that `what-if` simulates",
    400,
    "days",
    "as above",
    "A year, and the month before it.",
)
ANSWER_BYTES: Final = Limit(
    "a file of `report --what-if`",
    1 << 20,
    "bytes",
    "the file is refused",
    "An answer of `what-if --json` has some 10,000 bytes.",
)
ANSWER_PREDICTIONS: Final = Limit(
    "predictions of such a file",
    20,
    "predictions",
    "further ones are left out",
    "`what-if` tries at most nine changes.",
)
ANSWER_SENTENCES: Final = Limit(
    "sentences on one prediction of such a file",
    40,
    "sentences",
    "further ones are left out",
    "The page stays small.",
)
END_OFFSETS_DOCUMENT_BYTES: Final = Limit(
    "a JSON document in a file of `--end-offsets`",
    32 << 20,
    "bytes",
    "refused with a sentence",
    "Short texts need twenty times their size in memory. Samples in lines are read one by one, however many there are.",
)
DEPLOY_FILE_BYTES: Final = Limit(
    "a file of `--deploys`, decompressed",
    64 << 20,
    "bytes",
    "the command ends with a sentence that names the file",
    "The events of a large cluster take some 20 MB; as objects of Python they need ten times as much.",
)
DEPLOY_FILE_BRACKETS: Final = Limit(
    "objects and arrays in such a file, those in its texts and of its dotted names among them",
    1_500_000,
    "objects and arrays",
    "the command ends with a sentence that names the file",
    "64 MiB of real events have some 400,000; empty objects need twenty times their size in memory.",
)
DEPLOY_FILE_MARKS: Final = Limit(
    "commas and colons in such a file",
    5_000_000,
    "commas and colons",
    "the command ends with a sentence that names the file",
    "40 MB of real events have 3,000,000 to 4,800,000; texts of two characters need twenty times their size in memory.",
)
DEPLOY_ITEMS: Final = Limit(
    "items of known kinds in all files of `--deploys`, rows of a CSV among them",
    100_000,
    "items",
    "the command ends with a sentence that names the file",
    "The events of a large cluster are some 30,000; each has times in any form.",
)
PODS_OF_NAME: Final = Limit(
    "pods of one name, or at one address, that are considered for one join or end of a member",
    100,
    "pods",
    "those created or deleted latest are considered",
    "A StatefulSet's pod keeps its name; a file may have it created every few milliseconds.",
)
DEPLOYS: Final = Limit(
    "rollouts that are matched with rebalances",
    10_000,
    "rollouts",
    "the latest are used, and a note says so",
    "Ten a day for three years.",
)
DEPLOYS_AROUND: Final = Limit(
    "rollouts that are considered for one rebalance without a pod that matches",
    200,
    "rollouts",
    "those that began latest before its end are considered",
    "Hundreds of rollouts at once are no evidence for one of them, and rebalances times rollouts is quadratic.",
)

LIMITS: Final = tuple(each for each in list(globals().values()) if isinstance(each, Limit))
"""All of them, in this order."""
