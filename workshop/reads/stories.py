"""What is done to groups whose members write down what they read."""

from collections.abc import Sequence
from typing import Final, NamedTuple

READ_TOPIC: Final = "numbers"
SHORT_TOPIC: Final = "short-lived"
"""Its first records are deleted at TRIMMED_S."""
TOPICS: Final = (READ_TOPIC, SHORT_TOPIC)
RATES: Final = (2.0, 4.0, 7.0)
"""Records per second, one rate for each partition."""
TRIMMED_S: Final = 40.0
"""When all but the last TRIMMED_TO records of SHORT_TOPIC are deleted."""
TRIMMED_TO: Final = 12
ENDS_S: Final = 80.0
"""When the remaining members are closed."""


class Step(NamedTuple):
    """One step of a story."""

    at_s: float
    """Seconds since the start."""
    verb: str
    """start, stop (close), kill, forget (delete the offsets of the group)."""
    member: str = ""
    options: Sequence[str] = ()
    """NAME=VALUE, for start; see readers.py."""


class Story(NamedTuple):
    """What is done to one group."""

    name: str
    topic: str
    steps: Sequence[Step]


def _story(name: str, text: str, topic: str = READ_TOPIC) -> Story:
    """`text`: steps `SECONDS VERB [MEMBER [NAME=VALUE …]]`, separated by semicolons."""
    steps = []
    for line in text.split(";"):
        at, verb, *rest = line.split()
        steps.append(Step(float(at), verb, rest[0] if rest else "", rest[1:]))
    return Story(name, topic, steps)


STORIES: Final = (
    # Rolling restart: each member commits and closes, and comes back six seconds later.
    _story("roll", "0 start a; 0 start b; 22 stop a; 28 start a2; 42 stop b; 48 start b2"),
    # Members die between reading and committing.
    _story("crash", "0 start a; 0 start b; 23 kill a; 38 start a2; 53 kill b"),
    # Partitions move without a commit before.
    _story(
        "careless",
        "0 start a habit=careless; 20 start b habit=careless; 36 stop b; 50 start b2 habit=careless; 63 kill a",
    ),
    # The next owner skips to the end of the partition, as applications do to drop a backlog.
    _story("to-end", "0 start a; 21 stop a; 35 start b habit=seek_to_end; 55 start c"),
    # The next owner begins before the committed offset.
    _story("back", "0 start a; 21 stop a; 31 start b habit=seek_back; 55 stop b; 60 start c"),
    # The committed offsets are deleted, as when they expire.
    _story("expired", "0 start a; 21 stop a; 30 forget; 42 start b reset=latest"),
    # Retention deletes records before they are read.
    _story("short-latest", "0 start a; 21 stop a; 48 start b reset=latest", SHORT_TOPIC),
    _story("short-earliest", "0 start a; 21 kill a; 48 start b", SHORT_TOPIC),
)
