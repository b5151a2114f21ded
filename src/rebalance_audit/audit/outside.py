"""What an audit asks of sources outside the log, and what it was told: another answer would give other rows."""

from collections.abc import Sequence

from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.wire.topic_names import topic_id_text

_UNNAMED_LIMIT = 10_000
"""Topic ids without a name that are kept; beyond it any is taken for one of them, to bound memory."""

_Lives = Sequence[tuple[int | None, int | None]]


class Outside:
    """Asks the sources that the options name, and remembers what a later answer could change."""

    _unnamed: set[bytes]
    """Topic ids that had no name when one was wanted."""
    _more_unnamed: bool
    _lives: dict[str, tuple[int, tuple[tuple[int | None, int | None], ...]]]
    """Topic -> (time that was asked about last, its lives as far as they had come by then)."""
    _deletions: dict[bytes, tuple[int, int | None]]
    """Topic id -> (time that was asked about last, its deletion until then)."""

    def __init__(self, options: AuditOptions) -> None:
        self._options = options
        self._unnamed = set()
        self._more_unnamed = False
        self._lives = {}
        self._deletions = {}

    @property
    def unnamed(self) -> frozenset[bytes]:
        """Topic ids that had no name when one was wanted; at most 10,000 of them."""
        return frozenset(self._unnamed)

    def topic_name(self, topic_id: bytes) -> str | None:
        """Name of a topic id; None where it is unknown."""
        name = self._options.topic_name(topic_id)
        if name is None and topic_id not in self._unnamed:
            if len(self._unnamed) < _UNNAMED_LIMIT:
                self._unnamed.add(topic_id)
            else:
                self._more_unnamed = True
        return name

    def topic_existed(self, topic: str, at_ms: int) -> bool:
        """Whether a topic of that name is known to have existed then."""
        asked_ms = max(at_ms, self._lives.get(topic, (at_ms,))[0])
        lives = self._options.topic_lives(topic)
        self._lives[topic] = (asked_ms, _until(asked_ms, lives))
        return any(
            (made_ms is None or made_ms <= at_ms) and (gone_ms is None or gone_ms > at_ms)
            for made_ms, gone_ms in lives
        )

    def topic_deleted(self, topic_id: bytes, by_ms: int) -> bool:
        """Whether the topic is known to have been deleted by then."""
        asked_ms = max(by_ms, self._deletions.get(topic_id, (by_ms,))[0])
        deleted_ms = self._options.topic_deleted_at(topic_id)
        self._deletions[topic_id] = (asked_ms, _by(asked_ms, deleted_ms))
        return deleted_ms is not None and deleted_ms <= by_ms

    def news(self) -> str | None:
        """What the sources would answer otherwise now, in words; None while everything stands."""
        for topic_id in self._unnamed:
            if self._options.topic_name(topic_id) is not None:
                return f"topic {topic_id_text(topic_id)} has a name now"
        if self._more_unnamed:
            return "more topics had no name than are kept"
        for topic, (asked_ms, told) in self._lives.items():
            if _until(asked_ms, self._options.topic_lives(topic)) != told:
                return f"more is known of when topic {topic} existed"
        for topic_id, (asked_ms, deleted) in self._deletions.items():
            if _by(asked_ms, self._options.topic_deleted_at(topic_id)) != deleted:
                return f"more is known of the deletion of topic {topic_id_text(topic_id)}"
        return None


def _until(asked_ms: int, lives: _Lives) -> tuple[tuple[int | None, int | None], ...]:
    """What began and ended until then: it answers every question about a time until then."""
    return tuple(
        (made_ms, _by(asked_ms, gone_ms))
        for made_ms, gone_ms in lives
        if made_ms is None or made_ms <= asked_ms
    )


def _by(asked_ms: int, at_ms: int | None) -> int | None:
    return at_ms if at_ms is not None and at_ms <= asked_ms else None
