"""When something ended, and which answers depend on how far the log goes."""

from rebalance_audit.audit.findings.finding import spell_ms


class Ending:
    """A moment: of the record that ended something, or the log's end for what still goes on there.

    The log's end moves while nothing happens to a group. So every question about it goes through `reached`, which notes
    from which log end on the answer, and with it a finding, is another one.
    """

    __slots__ = ("at_ms", "due_ms", "is_open")

    def __init__(self, at_ms: int, *, is_open: bool = False) -> None:
        self.at_ms = at_ms
        self.is_open = is_open
        """Nothing ended: the log does."""
        self.due_ms: int | None = None
        """The earliest log end at which a question so far has another answer; None = never."""

    @property
    def known_ms(self) -> int | None:
        """The moment, where it is that of a record."""
        return None if self.is_open else self.at_ms

    def reached(self, moment_ms: int) -> bool:
        """Whether the moment had come by then."""
        if self.at_ms >= moment_ms:
            return True
        if self.is_open and (self.due_ms is None or moment_ms < self.due_ms):
            self.due_ms = moment_ms
        return False

    def lasted(self, began_ms: int, least_ms: int) -> str:
        """How long something lasted that began then, in words: exactly, or what is certain while it goes on."""
        if self.is_open:
            return f"at least {spell_ms(least_ms)}"
        return spell_ms(self.at_ms - began_ms)
