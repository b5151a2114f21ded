"""Optional dependencies of the package, by extra."""

import json
from importlib.util import find_spec
from shlex import quote
from typing import Final
from urllib.parse import unquote, urlsplit

from rebalance_audit.errors import MissingExtra
from rebalance_audit.resources import checkout_root

NAME: Final = "rebalance-audit"

_OF_SPARK: Final = ("pyspark", "pandas", "deltalake")
PACKAGES: Final = {
    "fast": ("numba",),
    "lake": ("deltalake",),
    "agents": ("mcp", "uvicorn"),
    "spark": _OF_SPARK,
    "quality": ("great_expectations", *_OF_SPARK),
    "notebook": ("pandas", "matplotlib"),
}
"""Extra -> the packages of it that are imported first."""


def require_extra(extra: str) -> None:
    """Raises MissingExtra if packages of an extra are not installed."""
    missing = [name for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        names = " and ".join(", ".join(missing).rsplit(", ", 1))
        raise MissingExtra(
            f"this needs {names}, which cannot be imported: install it with `{install_command(extra)}`."
        )


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation: from the checkout or the file that it came from."""
    try:
        return f"pip install -e {quote(f'{checkout_root()}[{extra}]')}"
    except FileNotFoundError:  # installed
        return f"pip install {quote(_requirement(extra))}"


def _requirement(extra: str) -> str:
    """The extra of what was installed, by the path or URL that PEP 610 has pip record; by name where it has not."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - imports email

    try:
        recorded = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:  # imported from an archive
        recorded = None
    if recorded is None:
        return f"{NAME}[{extra}]"
    url = str(json.loads(recorded)["url"])
    parts = urlsplit(url)
    return (
        f"{unquote(parts.path)}[{extra}]" if parts.scheme == "file" else f"{NAME}[{extra}] @ {url}"
    )
