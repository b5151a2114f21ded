"""Regular expressions by what is left without the parts that have no effect."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from hashlib import sha256

_DIGITS = 32


class Spellings:
    """The expressions of one group, grouped by `plain_expression`. Cost: the length of each expression, once."""

    def __init__(self, expressions: Iterable[str]) -> None:
        self._by_digest: dict[str, set[str]] = {}
        for expression in expressions:
            self.update(expression, is_present=True)

    def update(self, expression: str, is_present: bool) -> None:
        """Add or remove an expression."""
        digest = digest_of(plain_expression(expression))
        if is_present:
            self._by_digest.setdefault(digest, set()).add(expression)
            return
        spellings = self._by_digest.get(digest, set())
        spellings.discard(expression)
        if not spellings:
            self._by_digest.pop(digest, None)

    def alike(self, digest: str) -> AbstractSet[str]:
        """The expressions with the same effective part."""
        return self._by_digest.get(digest, frozenset())


def digest_of(expression: str) -> str:
    """Stands for an expression, which may have 64 kB, where it is kept."""
    return sha256(expression.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]


def plain_expression(expression: str) -> str:
    """The expression without parts that have no effect: outer parentheses, and anchors (whole names are matched)."""
    first, end = effective_part(expression)
    return expression[first:end]


def effective_part(expression: str) -> tuple[int, int]:
    """First and last position of an expression without the parts that have no effect, the last one exclusive.

    Linear in the length: expressions come from clients, with up to 1000 nested parentheses (RE2/J) and 32 kB.
    """
    closing = _closing_parentheses(expression)
    first, end = 0, len(expression)
    while True:
        before = first, end
        while first < end and expression[first].isspace():
            first += 1
        while first < end and expression[end - 1].isspace():
            end -= 1
        if closing.get(first) == end - 1:
            first, end = first + 1, end - 1
            if expression.startswith("?:", first, end):
                first += 2
        if expression.startswith("^", first, end):
            first += 1
        if expression.endswith("$", first, end) and not expression.endswith("\\$", first, end):
            end -= 1
        if (first, end) == before:
            return first, end


def _closing_parentheses(expression: str) -> dict[int, int]:
    """Position of each opening parenthesis -> position of its counterpart; escaped ones do not count."""
    closing = {}
    opened = []
    is_escaped = False
    for at, character in enumerate(expression):
        if is_escaped or character == "\\":
            is_escaped = not is_escaped
        elif character == "(":
            opened.append(at)
        elif character == ")" and opened:
            closing[opened.pop()] = at
    return closing
