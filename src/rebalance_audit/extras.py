"""Optional dependencies of the package, by extra."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Final
from urllib.parse import unquote, urlsplit

from rebalance_audit.errors import MissingExtra
from rebalance_audit.resources import checkout_root

NAME: Final = "rebalance-audit"
_TAG_OF_CACHES: Final = "CACHEDIR.TAG"
"""The file that marks a folder as a cache (https://bford.info/cachedir)."""

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
    """The command that adds an extra to this installation, of the program that made it: pip, uv or uvx.

    It names the checkout, file or URL that the package came from, which PEP 610 has installers record.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - imports email

    try:
        installed = distribution(NAME)
        recorded, installer = (
            installed.read_text("direct_url.json"),
            installed.read_text("INSTALLER"),
        )
    except PackageNotFoundError:  # imported from an archive
        recorded = installer = None
    try:
        source = f"-e {quote(f'{checkout_root()}[{extra}]')}"
    except FileNotFoundError:  # installed
        source = quote(_requirement(extra, recorded))
    if (installer or "").strip() != "uv":
        return f"pip install {source}"
    # uvx runs a program in a folder of uv's cache, where nothing can be added.
    if any((folder / _TAG_OF_CACHES).exists() for folder in Path(sys.prefix).parents):
        return f"uvx --from {source.removeprefix('-e ')} {NAME}"
    return f"uv pip install --python {quote(sys.prefix)} {source}"


def _requirement(extra: str, recorded: str | None) -> str:
    if recorded is None:
        return f"{NAME}[{extra}]"
    url = str(json.loads(recorded)["url"])
    parts = urlsplit(url)
    return (
        f"{unquote(parts.path)}[{extra}]" if parts.scheme == "file" else f"{NAME}[{extra}] @ {url}"
    )
