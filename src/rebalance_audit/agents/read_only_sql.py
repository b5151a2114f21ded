"""Queries of strangers over the gold tables, each in a process of its own that is limited in time, memory and output.

DuckDB's own limits do not hold for everything that a SELECT can do: it plans nested queries, computes edit distances
and builds texts without looking at a clock, and counts only the memory of its buffers. So the operating system limits
the process (`query_process`), and one that takes too long is killed. Queries run one at a time: two cannot see each
other's rows, and together they need no more than one.
"""

import json
import os
import subprocess
import sys
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Timer
from typing import Any, Final, NamedTuple, Self

import pyarrow as pa

from rebalance_audit.errors import BadRequest, LakeNotReadable
from rebalance_audit.readers.lake_reader import LakeReader
from rebalance_audit.tables.rows import GoldRows
from rebalance_audit.tables.schemas import GOLD_TABLES

SECONDS: Final = 6.0
"""Of a query, from its start to the last byte of its answer, unless the server is configured otherwise."""
START_SECONDS: Final = 60.0
"""Within which a process must be ready: it imports DuckDB and Arrow, on a busy machine for seconds."""
MEMORY_BYTES: Final = 800 << 20
"""Of a process's own memory; with the libraries that it shares with others it stays below 1 GB."""
ANSWER_BYTES: Final = 1_000_000
"""Of the rows of an answer, as JSON."""
QUERY_CHARACTERS: Final = 100_000

_MODULE: Final = "rebalance_audit.agents.query_process"
_ONE_ARENA: Final = {
    # Else allocators and thread pools reserve more than a query may use.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class QueryResult(NamedTuple):
    """Rows of a query."""

    rows: list[dict[str, Any]]
    """Values as in JSON."""
    is_whole: bool
    """Whether these are all the rows."""


class BoundedSql:
    """Answers queries over the tables of an audit, written to files once, or of a lake, read again by each query.

    With a cluster, a process sees only that cluster's rows.
    """

    def __init__(self, rows: GoldRows, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._lock = Lock()
        self._spares = [_QueryProcess()]
        resources = ExitStack()
        resources.callback(_end_all, self._spares)
        weakref.finalize(self, resources.close)
        if isinstance(rows, LakeReader):
            self._tables: dict[str, Any] = {"lake": rows.path, "cluster": rows.cluster}
        else:
            folder = resources.enter_context(TemporaryDirectory(prefix="rebalance-audit-"))
            write_tables(rows, Path(folder))
            self._tables = {"folder": folder}

    def query(
        self, sql: str, limit: int, seconds: float | None = None, **values: object
    ) -> QueryResult:
        """At most `limit` rows of one SELECT, fewer where they are too large; `values` are its parameters (`$name`).

        `seconds`: in place of the time that others have. Raises LakeNotReadable, and BadRequest for anything else than
        a SELECT, for an error in it, and for one that takes too long, too much memory or answers with too large a row.
        """
        if len(sql) > QUERY_CHARACTERS:
            raise BadRequest(f"The query has more than {QUERY_CHARACTERS:,} characters.")
        asked = {
            **self._tables,
            "sql": sql,
            "values": values,
            "rows_max": limit,
            "bytes_max": ANSWER_BYTES,
            "memory_bytes": MEMORY_BYTES,
            "seconds": seconds or self._seconds,
        }
        with self._lock:
            process = self._spares.pop() if self._spares else _QueryProcess()
            try:
                answer = process.answer(asked)
            finally:
                process.end()
                # Imports take a second, which the next query need not wait for.
                self._spares.append(_QueryProcess())
        return QueryResult(answer["rows"], answer["is_whole"])


class _QueryProcess:
    """A process that answers one query and ends."""

    def __init__(self) -> None:
        """Start it."""
        # -P: what lies in the current folder is not imported.
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ONE_ARENA},
        )

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer. Raises BadRequest and LakeNotReadable."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with _Deadline(process, START_SECONDS):
            if not process.stdout.readline():
                raise BadRequest("The process for the query could not be started; ask again.")
        with _Deadline(process, asked["seconds"]) as deadline:
            try:
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.close()
            except BrokenPipeError:
                pass  # it has ended; what follows says so
            said = process.stdout.read(2 * ANSWER_BYTES)
        if deadline.has_passed:
            raise BadRequest(
                f"The query took longer than {asked['seconds']:g} seconds. Ask for less: one group, a window of time."
            )
        if process.wait() or not said:
            raise BadRequest(TOO_MUCH_MEMORY)
        return _checked(json.loads(said))

    def end(self) -> None:
        """Kill it, if it is still there."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue
        self._process.wait()


class _Deadline:
    """Kills a process that is not done in time."""

    def __init__(self, process: "subprocess.Popen[bytes]", seconds: float) -> None:
        self.has_passed = False
        self._process = process
        self._timer = Timer(seconds, self._pass)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _pass(self) -> None:
        self.has_passed = True
        self._process.kill()


TOO_MUCH_MEMORY: Final = (
    f"The query took more than {MEMORY_BYTES >> 20} MB of memory. Ask for less: fewer columns, one group, a window of"
    " time."
)


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    match answer.get("error"):
        case None:
            return answer
        case "memory":
            raise BadRequest(TOO_MUCH_MEMORY)
        case "lake":
            raise LakeNotReadable(answer["message"])
        case _:
            raise BadRequest(answer["message"])


def write_tables(rows: GoldRows, folder: Path) -> None:
    """Each gold table as an Arrow file, which a process maps into its memory."""
    for name in GOLD_TABLES:
        table = rows.table(name).to_arrow()
        with (
            pa.OSFile(str(folder / f"{name}.arrow"), "wb") as file,
            pa.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table)


def _end_all(processes: list[_QueryProcess]) -> None:
    for process in processes:
        process.end()
