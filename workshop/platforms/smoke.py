"""Ingest, run, increment, check and read in the environment of one platform: the commands, one after the other.

    python -m workshop.platforms.smoke FOLDER LOG LAKE

FOLDER has `half` and `whole`, a log as it was earlier and as it is now, and `config.toml`. Copies them one after the
other to LOG, a folder or a URL of an object store. Writes FOLDER/result.json. Ends with the exit code of the command
that failed.
"""

import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Final

import fsspec

from rebalance_audit.cli.main import run
from rebalance_audit.spark_release import installed_spark_release

PACKAGES: Final = ("pyspark", "pyarrow", "pandas", "numpy", "deltalake", "great-expectations")
CLUSTER: Final = "blue"


def main(folder: Path, log: str, lake: str) -> int:
    """Run the commands until one fails; returns its exit code."""
    config = ("--config", str(folder / "config.toml"))
    into = ("--source", f"segments:{log}", "--lake", lake, "--cluster", CLUSTER)
    steps = {
        "ingest": ("half", ["ingest", *config, *into]),
        "run": ("half", ["run", *config, *into]),
        "increment": ("whole", ["run", *config, *into]),
        "check": ("whole", ["check", *config, "--lake", lake]),
        # A catalog is read with Spark alone.
        **({} if lake.startswith("catalog:") else {"read": ("whole", ["inspect", "--lake", lake])}),
    }
    seconds = {}
    failed = None
    code = 0
    for name, (state, arguments) in steps.items():
        files, place = fsspec.core.url_to_fs(log)
        files.makedirs(place, exist_ok=True)
        files.put(f"{folder / state}/", place, recursive=True)
        began = time.monotonic()
        sys.stdout.write(f"== {name}\n")
        code = run(arguments)
        seconds[name] = round(time.monotonic() - began)
        if code:
            failed = f"{name} ended with exit code {code}"
            break
    result = {
        "python": platform.python_version(),
        "delta": installed_spark_release().delta.coordinates,
        "packages": {name: version(name) for name in PACKAGES},
        "seconds": seconds,
        "failed": failed,
    }
    (folder / "result.json").write_text(json.dumps(result))
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
