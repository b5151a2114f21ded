"""When something ended, and which answers depend on where the log ends."""

from rebalance_audit.sentences.reason import CodedReason, because


class Ending:
    """A moment: that of the record that ended something, or the log's end for what still goes on then.

    The log's end moves on while nothing happens to a group. So every question about it goes through `reached`, which
    notes from which log end on the answer, and with it a finding, would differ.
    """

    __slots__ = ("at_ms", "due_ms", "is_open")

    def __init__(self, at_ms: int, *, is_open: bool = False) -> None:
        self.at_ms = at_ms
        self.is_open = is_open
        """True if only the log ended."""
        self.due_ms: int | None = None
        """The earliest log end (epoch ms) at which a question asked so far has a different answer; None = never."""

    @property
    def known_ms(self) -> int | None:
        """The moment (epoch ms) if it is that of a record, else None."""
        return None if self.is_open else self.at_ms

    def reached(self, moment_ms: int) -> bool:
        """Whether `moment_ms` had come by the end."""
        if self.at_ms >= moment_ms:
            return True
        if self.is_open and (self.due_ms is None or moment_ms < self.due_ms):
            self.due_ms = moment_ms
        return False

    def hides(self, moment_ms: int) -> bool:
        """Whether the log ends before `moment_ms`, so that what goes on may go on until then."""
        return self.is_open and not self.reached(moment_ms)

    def lasted(self, began_ms: int, least_ms: int) -> CodedReason:
        """How long something that began then lasted: exactly, or at least, while it still goes on."""
        if self.is_open:
            return because("lasted_at_least", ms=least_ms)
        return because("lasted", ms=self.at_ms - began_ms)
