"""How a handler refuses a request."""

from rebalance_audit.coordinator.handling import ErrorCode


class RefusedError(Exception):
    """A request is answered with an error and leaves no trace; raised before anything is decided."""

    def __init__(self, error_code: ErrorCode, message: str) -> None:
        """`message` is for the client."""
        super().__init__(message)
        self.error_code = error_code
