"""The tables of a lake as they are when a check begins."""

from collections.abc import Iterable
from threading import Lock

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.checks.scope import Scope
from rebalance_audit.lake.storage.tables import Lake


class TableFrames:
    """The tables of a lake as they are when a check begins: each is looked up only once."""

    def __init__(self, lake: Lake, scope: Scope) -> None:
        """Nothing is read yet."""
        self._lake = lake
        self._scope = scope
        self._found: dict[str, tuple[int, DataFrame] | None] = {}
        self._lock = Lock()

    def find(self, name: str) -> tuple[int, DataFrame] | None:
        """Version of a table, and its rows of the cluster that is checked; None if there is no table.

        Raises LakeNotReadable.
        """
        with self._lock:
            if name not in self._found:
                version = self._lake.version(name)
                self._found[name] = None if version is None else (version, self._read(name))
            return self._found[name]

    def size_bytes(self, names: Iterable[str]) -> int:
        """How many bytes the files of these tables have. Raises LakeNotReadable."""
        return sum(self._lake.log(name).size_bytes() for name in self._lake.existing(names))

    def _read(self, name: str) -> DataFrame:
        table = self._lake.read(name)
        cluster = self._scope.cluster
        return table if cluster is None else table.where(F.col("cluster") == cluster)
