"""The error of a rule that does not hold."""


class InvariantBrokenError(Exception):
    """Something happened that must never happen."""


def require(holds: bool, sentence: str) -> None:
    """Raises InvariantBrokenError with the sentence unless the condition holds."""
    if not holds:
        raise InvariantBrokenError(sentence)
