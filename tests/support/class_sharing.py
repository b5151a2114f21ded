"""Options of Java with which a broker takes its classes from an archive, and makes one: it starts sooner (CDS)."""

from pathlib import Path
from typing import Final

SILENT: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""Java would write to stdout what it leaves out of an archive, and why it does without one."""


def sharing(archive: Path) -> str:
    """Options for a Java that is to take its classes from the archive; none where there is no archive."""
    return f'"-XX:SharedArchiveFile={archive}" {SILENT}' if archive.is_file() else ""


def recording(archive: Path) -> str:
    """Options for a Java that is to write the archive when it ends."""
    return f'"-XX:ArchiveClassesAtExit={archive}" {SILENT}'
