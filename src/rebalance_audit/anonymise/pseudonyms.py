"""Pseudonyms: what stands for a name, computed from the name and a secret key alone.

A name has the same pseudonym in every log that is anonymised with the same key, and without the key no list of
candidates finds it. Equal names of different kinds have different pseudonyms. A pseudonym is a letter for the kind
and consonants, so it holds no word.

What the audit reads in a name survives: the name that processes of one deployment share, the client id in a member id,
the part of an expression that has an effect, and "cooperative" in the name of an assignor.
"""

import hmac
import re
from collections import defaultdict
from collections.abc import Callable
from enum import StrEnum
from hashlib import shake_256
from typing import Final

from rebalance_audit.anonymise import protocol_words
from rebalance_audit.audit.causes.same_members import COOPERATIVE_MARK
from rebalance_audit.audit.findings.spellings import effective_part
from rebalance_audit.audit.members.tally import common_name
from rebalance_audit.replay.java_order import partition_for
from rebalance_audit.wire.topic_names import TOPIC_ID_BYTES, ZERO_TOPIC_ID, topic_id_text

_CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"
_LETTERS: Final = 12
"""20^12 words: among a million names two are alike with a chance of 1 in 8,000."""
_STEM_LETTERS: Final = 10
"""Of a group, whose last letters make it hash into its partition."""
_ENDING_LETTERS: Final = 4
_ENDINGS: Final = len(_CONSONANTS) ** _ENDING_LETTERS
PARTITIONS_KEPT_MAX: Final = 10_000
"""With more partitions of `__consumer_offsets`, which no cluster has, groups do not hash into their own."""
_DIGITS: Final = 14
_CACHED: Final = 1 << 16
_CACHED_LENGTH: Final = 256
_COUNTED_MAX: Final = 1 << 20
_HOUR_MS: Final = 3_600_000
_HOURS_MOST: Final = 5 * 365 * 24
_LAST_MOMENT_MS: Final = 1 << 60
"""Larger numbers stand for "never"."""
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_AFTER_CLIENT: Final = re.compile(rf"(?P<client>.*)-(?P<uuid>{_UUID.pattern})", re.DOTALL)
_SHORT_NUMBER: Final = re.compile(r"-([0-9]{1,3})", re.ASCII)
_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[^/:\[\]@]+|\[[^\]]*\])(?::(?P<port>[0-9]{1,5}))?(?P<slash>/?)"
)
_AROUND_MAX: Final = 256
"""Characters without effect around an expression that stay; clients may send more than a key has room for."""


class NameKind(StrEnum):
    """What a name belongs to; names of different kinds have different pseudonyms."""

    GROUP = "groups"
    TOPIC = "topics"
    TOPIC_ID = "topic ids"
    MEMBER = "member ids"
    CLIENT = "client and instance ids"
    HOST = "hosts"
    RACK = "racks"
    EXPRESSION = "regular expressions"
    ASSIGNOR = "assignors and protocols that are not Kafka's"
    COMMIT_METADATA = "metadata of commits"
    CONNECTOR = "connectors"
    PROCESS = "processes of Kafka Streams"
    FILE = "files of brokers' logs"
    OTHER = "other texts"
    BYTES = "bytes of clients"
    HASH = "hashes of topics"


_BEGINNINGS: Final = {
    NameKind.GROUP: "g-",
    NameKind.TOPIC: "t-",
    NameKind.CLIENT: "c-",
    NameKind.HOST: "h-",
    NameKind.RACK: "r-",
    NameKind.EXPRESSION: "x-",
    NameKind.ASSIGNOR: "a-",
    NameKind.COMMIT_METADATA: "m-",
    NameKind.CONNECTOR: "k-",
    NameKind.FILE: "b-",
    NameKind.OTHER: "o-",
}


class Pseudonyms:
    """Makes the pseudonyms of one key, and counts the names that it replaces."""

    def __init__(self, key: bytes, offsets_partitions: int, *, shifts_times: bool = False) -> None:
        """`offsets_partitions`: how many partitions `__consumer_offsets` has; groups stay in theirs."""
        self._key = key
        self._partitions = offsets_partitions
        self._known: dict[tuple[NameKind, str], str] = {}
        self._counted: dict[NameKind, set[bytes]] = defaultdict(set)
        self.shift_ms = (
            -_HOUR_MS * (1 + self._number(b"shift", b"") % _HOURS_MOST) if shifts_times else 0
        )
        """Added to every time: whole hours, so that what is counted by the hour stays together."""
        self.on_new: Callable[[NameKind, str, str], None] | None = None
        """Called with each name and its pseudonym; for a name that comes again, perhaps again."""

    def counts(self) -> dict[str, int]:
        """NameKind -> different names that were replaced, at most about a million of each."""
        return {kind.value: len(self._counted[kind]) for kind in NameKind if self._counted[kind]}

    # --- names -----------------------------------------------------------------------------------

    def group(self, name: str) -> str:
        """Of a group id; it hashes into the same partition of `__consumer_offsets`."""
        return self._of(NameKind.GROUP, name, self._group)

    def topic(self, name: str) -> str:
        """Of a topic; Kafka's own topics keep their names."""
        if name in protocol_words.TOPICS:
            return name
        return self._of(NameKind.TOPIC, name, self._word)

    def topic_id(self, topic_id: bytes) -> bytes:
        """Of a topic's id."""
        if topic_id == ZERO_TOPIC_ID:
            return topic_id
        self._count(NameKind.TOPIC_ID, topic_id)
        made = self._digest(NameKind.TOPIC_ID.encode(), topic_id)[:TOPIC_ID_BYTES]
        if self.on_new is not None:
            self.on_new(NameKind.TOPIC_ID, topic_id_text(topic_id), topic_id_text(made))
        return made

    def client(self, name: str) -> str:
        """Of a client id or an instance id, which both name a process; see `common_name`."""
        return self._of(NameKind.CLIENT, name, self._client)

    def member(self, name: str) -> str:
        """Of a member id: a UUID, or a client id or an instance id and a UUID."""
        return self._of(NameKind.MEMBER, name, self._member)

    def host(self, name: str) -> str:
        """Of a host, an address, or both as Java prints them: `/10.0.0.7`, `broker/10.0.0.7`."""
        parts = name.split("/", 1)
        return "/".join([self._of(NameKind.HOST, part, self._word) for part in parts])

    def rack(self, name: str) -> str:
        """Of a rack."""
        return self._of(NameKind.RACK, name, self._word)

    def expression(self, text: str) -> str:
        """Of a regular expression; what has no effect around it stays."""
        return self._of(NameKind.EXPRESSION, text, self._expression)

    def assignor(self, name: str) -> str:
        """Of an assignor, a protocol or a protocol type; Kafka's own keep their names."""
        if name in protocol_words.ASSIGNORS_AND_PROTOCOLS:
            return name
        return self._of(NameKind.ASSIGNOR, name, self._assignor)

    def connector(self, name: str) -> str:
        """Of a connector."""
        return self._of(NameKind.CONNECTOR, name, self._word)

    def file(self, name: str) -> str:
        """Of a broker's log."""
        return self._of(NameKind.FILE, name, lambda kind, file: self._word(kind, file) + ".log")

    def commit_metadata(self, text: str) -> str:
        """Of what a client writes beside an offset."""
        return self._of(NameKind.COMMIT_METADATA, text, self._word)

    def other(self, text: str) -> str:
        """Of any other text."""
        return self._of(NameKind.OTHER, text, self._word)

    def word_or_number(self, text: str) -> str:
        """Of a key or a value of a setting: the protocol's words and numbers below 1000 stay."""
        if text in protocol_words.SETTINGS or (
            text.isascii() and text.isdecimal() and len(text) < 4
        ):
            return text
        return self.other(text)

    def process(self, text: str) -> str:
        """Of the id of a process, which is a UUID."""
        return self._of(NameKind.PROCESS, text, lambda kind, name: self._uuid(kind.encode(), name))

    def url(self, text: str) -> str:
        """Of a URL: scheme and port stay."""
        match = _URL.fullmatch(text)
        if match is None:
            return self.other(text)
        port = "" if match["port"] is None else f":{match['port']}"
        return f"{match['scheme']}://{self.host(match['host'])}{port}{match['slash']}"

    def endpoint(self, text: str) -> str:
        """Of HOST:PORT; the port stays."""
        host, colon, port = text.rpartition(":")
        if colon and host and port.isascii() and port.isdecimal() and len(port) <= 5:
            return f"{self.host(host)}:{port}"
        return self.other(text)

    # --- bytes and numbers -----------------------------------------------------------------------

    def data(self, data: bytes) -> bytes:
        """As many bytes; equal ones for equal ones."""
        if not data:
            return data
        self._count(NameKind.BYTES, data)
        return shake_256(self._digest(NameKind.BYTES.encode(), data)).digest(len(data))

    def process_bytes(self, data: bytes) -> bytes:
        """Of the 16 bytes of a process id."""
        self._count(NameKind.PROCESS, data)
        return self._digest(NameKind.PROCESS.encode(), data)[: len(data)]

    def topics_hash(self, number: int) -> int:
        """Of a hash of topics that cannot be recomputed: another signed number of 64 bits, never 0."""
        written = b"%d" % number
        self._count(NameKind.HASH, written)
        return int.from_bytes(self._digest(NameKind.HASH.encode(), written)[:8], signed=True) or 1

    def moment(self, at_ms: int) -> int:
        """A time in epoch milliseconds; 0, -1 and "never" stay."""
        return at_ms + self.shift_ms if 0 < at_ms < _LAST_MOMENT_MS else at_ms

    # --- how -------------------------------------------------------------------------------------

    def _of(self, kind: NameKind, name: str, make: Callable[[NameKind, str], str]) -> str:
        if not name:
            return name
        known = self._known.get((kind, name))
        if known is not None:
            return known
        made = make(kind, name)
        self._count(kind, name.encode(errors="surrogatepass"))
        if self.on_new is not None:
            self.on_new(kind, name, made)
        if len(name) <= _CACHED_LENGTH:
            if len(self._known) >= _CACHED:
                self._known.clear()
            self._known[kind, name] = made
        return made

    def _count(self, kind: NameKind, name: bytes) -> None:
        counted = self._counted[kind]
        if len(counted) < _COUNTED_MAX:
            counted.add(self._digest(b"count", name)[:8])

    def _digest(self, purpose: bytes, name: bytes) -> bytes:
        return hmac.digest(self._key, purpose + b"\0" + name, "sha256")

    def _number(self, purpose: bytes, name: bytes) -> int:
        return int.from_bytes(self._digest(purpose, name))

    def _letters(self, purpose: str, name: str, count: int = _LETTERS) -> str:
        return _spelled(self._number(purpose.encode(), name.encode(errors="surrogatepass")), count)

    def _word(self, kind: NameKind, name: str) -> str:
        return _BEGINNINGS[kind] + self._letters(kind, name)

    def _group(self, kind: NameKind, name: str) -> str:
        stem = f"{_BEGINNINGS[kind]}{self._letters(kind, name, _STEM_LETTERS)}-"
        wanted = partition_for(name, self._partitions)
        # The endings are tried in an order of the name's own, which shows nothing of it.
        first = self._number(b"partition", name.encode(errors="surrogatepass"))
        found = stem
        for step in range(_ENDINGS if self._partitions <= PARTITIONS_KEPT_MAX else 1):
            found = stem + _spelled((first + step) % _ENDINGS, _ENDING_LETTERS)
            if partition_for(found, self._partitions) == wanted:
                break
        return found

    def _client(self, kind: NameKind, name: str) -> str:
        common = common_name(name)
        rest = name[len(common) :]
        if not common:
            return f"{self._number(b'digits', name.encode(errors='surrogatepass')) % 10**_DIGITS:0{_DIGITS}}"
        shared = self._word(kind, common)
        if self.on_new is not None:
            self.on_new(kind, common, shared)
        if not rest:
            return shared
        number = _SHORT_NUMBER.fullmatch(rest)
        # A colon, as the last letters and `-1` could be a short name of the log.
        return (
            f"{shared}-0{self._letters('process', name)}"
            if number is None
            else f"{shared}:{number[1]}"
        )

    def _member(self, kind: NameKind, name: str) -> str:
        match = _AFTER_CLIENT.fullmatch(name)
        if match is not None:
            return f"{self.client(match['client'])}-{self._uuid(kind.encode(), name)}"
        if _UUID.fullmatch(name):
            return self._uuid(kind.encode(), name)
        return self._letters("member", name, 22)  # as `Uuid.toString` in Kafka: letters alone

    def _uuid(self, purpose: bytes, name: str) -> str:
        text = self._digest(purpose, name.encode(errors="surrogatepass")).hex()
        return "-".join((text[:8], text[8:12], f"4{text[13:16]}", f"a{text[17:20]}", text[20:32]))

    def _expression(self, kind: NameKind, text: str) -> str:
        first, end = effective_part(text)
        word = self._word(kind, text[first:end])
        has_room = first + len(text) - end <= _AROUND_MAX
        return text[:first] + word + text[end:] if has_room else word

    def _assignor(self, kind: NameKind, name: str) -> str:
        word = self._word(kind, name)
        return f"{word}-{COOPERATIVE_MARK}" if COOPERATIVE_MARK in name else word


def _spelled(number: int, count: int) -> str:
    """A number in letters, as many as asked for; what is above them is left out."""
    letters = []
    for _ in range(count):
        number, place = divmod(number, len(_CONSONANTS))
        letters.append(_CONSONANTS[place])
    return "".join(letters)
