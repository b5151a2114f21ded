"""Files on this machine without a process for each: a file system for Spark's JVMs in tests.

Hadoop's own starts `chmod` for each file that it makes and for each checksum file beside it, where it has no native
library: more than 400 times for a first run, 4 ms of processor time each. That of `jars/tests` asks Java instead. It
lists no folder behind a symbolic link, so it is for tests alone. Commands without settings of the tests use Hadoop's.
"""

from collections.abc import Mapping
from typing import Final

from rebalance_audit.resources import checkout_root

_JARS: Final = [*(checkout_root() / "jars" / "tests").glob("hadoop-bare-naked-local-fs-*.jar")]
CLASS_PATH: Final[Mapping[str, str]] = {"SPARK_DIST_CLASSPATH": ":".join(map(str, _JARS))}
"""For the environment of Spark's launcher, which puts it after all else: an archive of classes stays valid."""
SETTINGS: Final[Mapping[str, str]] = (
    {"spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"}
    if _JARS
    else {}
)
"""For a session whose launcher has `CLASS_PATH`; none where `make` has fetched no jar."""
