"""Optional dependencies of the package, by extra."""

from importlib.util import find_spec
from typing import Final

from rebalance_audit.errors import MissingExtra

PACKAGES: Final = {
    "quality": ("great_expectations",),
    "spark": ("pyspark", "delta"),
    "kafka": ("kafka",),
    "readers": ("deltalake", "pyarrow"),
    "notebook": ("deltalake", "pyarrow", "pandas"),
    "report": ("deltalake", "pyarrow", "duckdb", "jinja2"),
}
"""Extra -> the packages of it that are imported first."""


def require_extra(extra: str) -> None:
    """Raises MissingExtra if packages of an extra are not installed."""
    missing = [name for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"this needs {' and '.join(missing)}, which cannot be imported: install rebalance-audit[{extra}]."
        )
