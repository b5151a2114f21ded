"""The data files of the project, `schemas/` and `conf/`, and the folder of its caches.

In a wheel, installed or as a zip on `spark-submit --py-files`, they lie inside the package under `_data/`; in a source
checkout at its root. Paths are relative and the same in all three: `schemas/tables/gold.epochs.json`.
"""

import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def checkout_root() -> Path:
    """Root of the source checkout that this module runs from.

    Raises FileNotFoundError when it runs from a wheel or a zip.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / "schemas").is_dir():
        raise FileNotFoundError(f"{root} is no source checkout of rebalance-audit")
    return root


def resource(path: str) -> Traversable:
    """The data file or folder at a relative path; it may lie in a zip, so it has no path of its own.

    Raises FileNotFoundError when there is none.
    """
    packaged = files(__package__).joinpath("_data")
    root = packaged if packaged.is_dir() else checkout_root()
    found = root.joinpath(*path.split("/"))
    if not (found.is_file() or found.is_dir()):
        raise FileNotFoundError(f"{path} is not among the data files of rebalance-audit")
    return found


def read_text(path: str) -> str:
    """Text of the data file at a relative path."""
    return resource(path).read_text(encoding="utf-8")


def list_files(folder: str, suffix: str = "") -> list[str]:
    """Relative paths of the files right inside a folder whose name ends so, sorted."""
    return sorted(
        f"{folder}/{entry.name}"
        for entry in resource(folder).iterdir()
        if entry.is_file() and entry.name.endswith(suffix)
    )


def caches_folder() -> Path:
    """Where a user's caches of this program lie: below $XDG_CACHE_HOME, else ~/.cache."""
    # `Path.home` raises for a user without a home, such as a container's.
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return Path(caches) / "rebalance-audit"
