"""An archive of the classes that Spark's Java process loads: class data sharing (CDS), as Java calls it.

A session loads some 25,000 classes, and reads, checks and lays out each of them anew. From an archive Java maps them
into memory as they were. It checks by itself that the archive was made by the same Java from the same jars, and does
without one that was not.
"""

import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Final

import pyspark

FOLDER: Final = "rebalance-audit"
"""Of this program, in the user's folder for what can be made again."""
SILENT: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""Java would write to stdout what it leaves out of an archive, and why it does without one."""


def class_archive() -> Path:
    """Where the archive for this Spark and this Java is, or would be.

    Below `$XDG_CACHE_HOME`, by default ~/.cache.
    """
    # `Path.home` raises for a user without a home, such as a container's.
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    spark = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    java = os.environ.get("JAVA_HOME") or str(shutil.which("java"))
    both = sha256(f"{spark}\n{java}".encode()).hexdigest()
    return Path(caches) / FOLDER / f"classes-{both[:16]}.jsa"


def sharing(archive: Path) -> str:
    """Options for a Java that is to take its classes from the archive; none where there is no archive."""
    return f'"-XX:SharedArchiveFile={archive}" {SILENT}' if archive.is_file() else ""


def recording(archive: Path) -> str:
    """Options for a Java that is to write the archive when it ends."""
    return f'"-XX:ArchiveClassesAtExit={archive}" {SILENT}'
