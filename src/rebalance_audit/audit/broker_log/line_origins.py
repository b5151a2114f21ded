"""Who wrote what: which files and lines are a coordinator's own, and which may be a text that a client chose.

Group ids, client ids and reasons are free text, and a broker's other loggers repeat them: the authorizer names the
group of a request that it denies. So a mark counts only where nothing but the fields of a layout is before it: a time,
a level, a thread, a logger, and what a shipper puts in front. And as such a text may hold line breaks, a line that
follows one may be the rest of it, whatever it looks like.
"""

import re
from typing import Final

from rebalance_audit.audit.broker_log.fact import FactKind
from rebalance_audit.audit.broker_log.message import ParsedMessage
from rebalance_audit.audit.broker_log.passages import MARK, Passage
from rebalance_audit.audit.broker_log.reasons import is_usual_reason, trigger_of
from rebalance_audit.written_times import TIMES

_OTHER_FILE: Final = re.compile(
    r"authori[sz]er|kafka-request|state-change|log-cleaner|(?:\A|[-_.])(?:request|controller)\.log|-gc\.log",
    re.IGNORECASE,
)
_OTHER_LOGGER: Final = re.compile(
    r"authorizer|\brequest\.logger|\bkafka\.(?:request|controller)\b|state\.change"
)
_MESSAGE_FIELD: Final = re.compile(
    r"(?:message|msg|m|log|line|text|body|raw|payload|content|event|entry|record|original|data|value|result)s?"
)
_NO_LETTERS: Final = re.compile(r"[^a-z]+")
_HEAD_CHARS_MAX: Final = 2_048
_TIME: Final = "\0"
_TOKEN: Final = re.compile(r"\[[^\[\]\0]*\]|std(?:out|err) [FP]\b|[^\s|,;\0\[\]]+")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.|"")*+"')
_LEVEL: Final = re.compile(
    r"trace|debug|info|notice|warn(?:ing)?|error|fatal|[tdiwef]", re.IGNORECASE
)
_LOGGER: Final = re.compile(
    r"(?:[\w$-]+\.)+\w[\w$]*(?::\d+)?|(?:Group|Classic|Consumer|Share|Streams|Offset|Coordinator)[A-Z]\w*(?::\d+)?"
)
_FIELD: Final = re.compile(
    r"(?:@?timestamp|time|ts|t|level|lvl|severity|logger|thread|caller|source|host|app|message|msg|log)="
    r"[^=]*",
    re.IGNORECASE,
)
_PAIR: Final = re.compile(r"[\w.@-]+=[^=]*")
_NAME: Final = re.compile(r"[a-z\d_./<][\w.@:/<>\\-]*|[A-Z]\w*[\d.:/\\_-][\w.:/\\-]*")
"""A host, a process, a stream, a file: not a word that begins a sentence."""
_NAMES_MAX: Final = 5
_NAMES_AFTER_LEVEL_MAX: Final = 1
_EDGES: Final = "()<>:;-*#'\"{"


def is_other_file(name: str) -> bool:
    """Whether a file is by its name the log of an authorizer, of requests or of another logger than the server's."""
    return _OTHER_FILE.search(name.rsplit("!", 1)[-1].rsplit("/", 1)[-1]) is not None


def begins_message(head: str, *, is_before_quote: bool = False) -> bool:
    """Whether `head`, the text before a message, holds nothing but fields of a layout.

    Before a quoted field, which has a name of its own, any pairs of names and values may be.
    """
    if is_before_quote:
        head = _QUOTED.sub("", head)
    cut = head[:-_HEAD_CHARS_MAX]
    if cut and not cut.isalnum():
        return False
    names = after_level = 0
    levelled = False
    for found in _TOKEN.finditer(_without_times(head[-_HEAD_CHARS_MAX:])):
        token = found[0]
        if token.startswith(("[", "stdout ", "stderr ")):
            continue
        token = token.strip(_EDGES)
        if not token or _FIELD.fullmatch(token) or (is_before_quote and _PAIR.fullmatch(token)):
            continue
        if _LEVEL.fullmatch(token):
            levelled = True
        elif _LOGGER.fullmatch(token):
            if _OTHER_LOGGER.search(token):
                return False
        elif _NAME.fullmatch(token) and names < _NAMES_MAX:
            names += 1
            after_level += levelled
            if after_level > _NAMES_AFTER_LEVEL_MAX:
                return False
        else:
            return False
    return True


def is_of_other_logger(line: str) -> bool:
    """Whether a line ends with the name of a logger that repeats what clients send."""
    end = line.rstrip().rfind("(")
    return line.rstrip().endswith(")") and _OTHER_LOGGER.search(line, end) is not None


def is_message_field(name: str | None) -> bool:
    """Whether a field may hold a logger's message; a field without a name may."""
    if name is None:
        return True
    words = _NO_LETTERS.split(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return any(_MESSAGE_FIELD.fullmatch(word) for word in words if word)


_TEXT_LINES_MAX: Final = 1_000
"""A text of a client has at most 32 KiB, so its lines end within so many."""
_LOOK_BACK_LINES: Final = 20
_INDENTED: Final = re.compile(
    r"\s|at \S+\(|Caused by: |\.\.\. \d+ more|[a-z]+(?:\.\w+)+(?:Exception|Error)\b"
)
"""Blank lines and traces of a stack: what was logged before them counts."""
_QUOTES_CLIENT: Final = re.compile(
    r"principal|user:|\bgroup(?:_?id\b|\.id\b|:)|client[._]?id\b|member[._]?id\b|transactional[._]?id\b",
    re.IGNORECASE,
)
_CONFIRMED: Final = frozenset(
    {
        FactKind.EPOCH_BUMPED,
        FactKind.GENERATION_STABILIZED,
        FactKind.GROUP_EMPTIED,
        FactKind.ASSIGNMENT_RECEIVED,
    }
)
"""Lines that the records confirm or contradict, so they end a client's text."""
_OF_CLIENTS: Final = frozenset(
    {
        FactKind.MEMBER_LEFT_BY_REQUEST,
        FactKind.PENDING_MEMBER_LEFT,
        FactKind.SUBSCRIPTION_CHANGED,
        FactKind.MEMBER_UPDATED,
    }
)
"""Lines that end with what a client gave: a reason, an expression, metadata."""


class Continuations:
    """Which lines of one file may be the rest of a client's text, read in order."""

    def __init__(self) -> None:
        self._open_since: int | None = None
        """Number of the coordinator's last line if a client's text ends it."""
        self._last: ParsedMessage | None = None
        """That line, if it is sure."""
        self._unsure_group: object = None
        """The group of the last line, if that line may be a client's and no record would show it."""

    def may_be(self, passage: Passage, parsed: ParsedMessage | None, *, in_field: bool) -> bool:
        """Whether the line of the passage may be the rest of a text that began before it.

        `in_field`: a quoted field carries it, so the lines before are no loggers' own.
        """
        if self._open_since is not None and passage.number - self._open_since <= _TEXT_LINES_MAX:
            return not _is_own_matter(self._last, parsed)
        if self._unsure_group is not None and self._unsure_group == _group_of(parsed):
            return True
        return _follows_client(passage, in_field=in_field)

    def note(self, passage: Passage, parsed: ParsedMessage | None, *, unsure: bool) -> None:
        """Look at a line of the coordinator; `unsure`: what `may_be` said of it."""
        self._open_since = passage.number if _ends_in_text(parsed) else None
        self._last = None if unsure else parsed
        is_confirmed = parsed is None or parsed.kind in _CONFIRMED
        self._unsure_group = _group_of(parsed) if unsure and not is_confirmed else None


def _group_of(parsed: ParsedMessage | None) -> object:
    return None if parsed is None else parsed.fields.get("group_id")


def _ends_in_text(parsed: ParsedMessage | None) -> bool:
    """Whether a client's text reaches to the end of the message, as far as it was read."""
    if parsed is None:
        return True
    text = parsed.fields.get("text")
    if not isinstance(text, str):
        return False
    if parsed.kind is FactKind.REBALANCE_PREPARED:
        return "; client reason: " in text or trigger_of(text) is None
    return parsed.kind in _OF_CLIENTS


def _is_own_matter(last: ParsedMessage | None, parsed: ParsedMessage | None) -> bool:
    """Whether a line is of the group of the `last` one, whose client gave a usual reason, or the same for both.

    A client may lie about its own group all the same; one request that removes several members has a line for each.
    """
    if last is None or parsed is None or _group_of(last) != _group_of(parsed):
        return False
    text = str(last.fields.get("text"))
    reason = text.rpartition("; client reason: ")[2]
    return is_usual_reason(reason) or text == parsed.fields.get("text")


def _follows_client(passage: Passage, *, in_field: bool) -> bool:
    """Whether the last line of another logger repeats what a client sent, or is no whole line."""
    for line in passage.lines_before(_LOOK_BACK_LINES):
        if MARK.search(line):
            return False
        bare = _without_times(line[:_HEAD_CHARS_MAX])
        if not bare.strip(f"[] \t\r{_TIME}") or _INDENTED.match(line):
            continue
        if in_field and not bare.lstrip().startswith(("{", '"')):
            return False
        is_whole = _TIME in bare or in_field
        return not is_whole or _QUOTES_CLIENT.search(line) is not None
    return False


def _without_times(text: str) -> str:
    for form in TIMES:
        text = form.sub(_TIME, text)
    return text
