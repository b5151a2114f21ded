"""What a command needs beside the package; one sentence says what is missing."""

import os
import re
import shutil
import subprocess
from typing import Final

from rebalance_audit.errors import MissingExtra, MissingJava
from rebalance_audit.extras import require_extra

OLDEST_JAVA: Final = 17
"""What Spark 4 runs on."""


def require_packages_of(extra: str) -> None:
    """Raises MissingExtra if packages of an extra are not installed."""
    try:
        require_extra(extra)
    except MissingExtra as error:
        raise MissingExtra(
            f"{error} inspect, explain, state and decode work on segments without it."
        ) from error


def require_java() -> None:
    """Raises MissingJava unless the Java that Spark would start is new enough."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    found = _feature_release(java) if java else None
    if found is None or found < OLDEST_JAVA:
        what = "none" if found is None else f"Java {found}"
        where = f"JAVA_HOME={home}" if home else "java on PATH"
        raise MissingJava(
            f"Spark needs Java {OLDEST_JAVA} or newer, found {what} ({where}); install it or set JAVA_HOME. "
            "inspect, explain, state and decode work on segments without it."
        )


def _feature_release(java: str) -> int | None:
    """17 for a Java that reports version "17.0.15", 8 for "1.8.0_392"; None if it reports none."""
    try:
        done = subprocess.run(  # noqa: S603 - the program that Spark will start
            [java, "-version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(match[1]) if match else None
