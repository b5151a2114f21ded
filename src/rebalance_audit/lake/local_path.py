"""Places of lakes and sources that are on this machine. Imports no Spark."""

import re
from pathlib import Path
from typing import Final

_FILE: Final = "file:"
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
"""Of two characters at least: a single letter would be a drive."""


def local_path(location: str) -> Path | None:
    """The path of a location on this machine; None for one on other storage, such as s3a://.

    As Spark reads it (Hadoop's `Path`): what follows `file:` is the name as it stands, `%20` and `#` are no signs of
    a URL in it.
    """
    if location.startswith(_FILE):
        path = location.removeprefix(_FILE)
        if path.startswith("//"):
            # Between the second and the third slash is a host: none, or this one.
            path = "/" + path.removeprefix("//").partition("/")[2]
        return Path(path)
    return None if _SCHEME.match(location) else Path(location)
