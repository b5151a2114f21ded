"""Values of tables as the core has them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def plain(value: Any) -> Any:
    """A value with the times at any depth of it as epoch milliseconds."""
    match value:
        case datetime():
            return (value - _EPOCH) // _MILLISECOND
        case Mapping():
            return {name: plain(inner) for name, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case _:
            return value
