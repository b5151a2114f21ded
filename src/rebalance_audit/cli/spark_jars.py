"""What Spark needs besides its own: Java, and jars; where these lie, and how Ivy fetches them."""

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.resources import as_file
from pathlib import Path
from typing import Final

from rebalance_audit.errors import JarsNotFetched, MissingJava
from rebalance_audit.resources import caches_folder, checkout_root, read_text, resource
from rebalance_audit.spark_release import IVY_FILE, installed_spark_release, jars_of_spark
from rebalance_audit.steps import OnProgress, no_progress

OF_SPARK: Final = "spark"
"""Stands for the configuration of the Spark that is installed."""
COMPLETE: Final = ".fetched"
"""A file in a folder whose jars are all there."""
OLDEST_JAVA: Final = 17
"""What Spark 4 runs on."""
ATTEMPTS: Final = 3
PAUSES_S: Final = (5.0, 20.0)


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


def jars_folder(configured: Path) -> Path:
    """Where Spark finds Delta's and Kafka's jars.

    A folder that exists below the current one or is given as an absolute path; else, in a checkout, the checkout's;
    else one below $XDG_CACHE_HOME (~/.cache) that belongs to the versions that this release needs for the installed
    Spark. Raises LakeError for a Spark that this release has no jars for.
    """
    if configured.is_absolute() or configured.is_dir():
        return configured
    try:
        return checkout_root() / configured
    except FileNotFoundError:
        versions = sha256(read_text(IVY_FILE).encode()).hexdigest()[:16]
        of_spark = installed_spark_release().configuration
        return caches_folder() / f"jars-{of_spark}-{versions}"


def fetch_jars(
    configuration: str,
    folder: Path,
    on_progress: OnProgress = no_progress,
    pauses_s: tuple[float, ...] = PAUSES_S,
) -> None:
    """Fetch the jars of one configuration of conf/jars/ivy.xml with the Ivy inside Spark, from Maven Central.

    The folder is replaced as a whole once every jar is there, so it never holds jars of two versions. A failed fetch is
    repeated, the last time with an empty cache. Raises JarsNotFetched, OSError for a folder that cannot be written, and
    LakeError as `jars_folder`.
    """
    if configuration == OF_SPARK:
        configuration = installed_spark_release().configuration
    ivy_home = Path(os.environ.get("IVY_HOME") or os.path.expanduser("~/.ivy2"))  # noqa: PTH111
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    # The one that Spark brings for `spark.jars.packages`.
    ivy_jar = next(jars_of_spark().glob("ivy-*.jar"))
    new = folder.with_name(f"{folder.name}.new")
    with as_file(resource(IVY_FILE)) as ivy_file, _only_one(ivy_home):
        for attempt in range(ATTEMPTS):
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            # A damaged cache stays damaged.
            own_cache = ("-cache", str(new / ".ivy")) if attempt == ATTEMPTS - 1 else ()
            done = subprocess.run(  # noqa: S603 - the Java that Spark would start
                [
                    *(java, f"-Divy.home={ivy_home}", "-jar", str(ivy_jar)),
                    *("-ivy", str(ivy_file), "-confs", configuration, "-warn", *own_cache),
                    *("-retrieve", f"{new}/[artifact]-[revision].[ext]"),
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )
            if done.returncode == 0:
                shutil.rmtree(new / ".ivy", ignore_errors=True)
                (new / COMPLETE).touch()
                shutil.rmtree(folder, ignore_errors=True)
                new.rename(folder)
                return
            if attempt < ATTEMPTS - 1:
                on_progress(f"jars could not be fetched, retrying in {pauses_s[attempt]:.0f} s")
                time.sleep(pauses_s[attempt])
    shutil.rmtree(new, ignore_errors=True)
    raise JarsNotFetched(f"The jars of {IVY_FILE} could not be fetched. Ivy: {done.stdout.strip()}")


@contextmanager
def _only_one(ivy_home: Path) -> Iterator[None]:
    """Ivy does not expect another Ivy in its cache: one reads what the other has half written."""
    ivy_home.mkdir(parents=True, exist_ok=True)
    with (ivy_home / ".rebalance-audit.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
