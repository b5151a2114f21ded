"""The process that answers one query: it reads a request from stdin, limits itself, and writes the answer to stdout."""

import json
import resource
import sys
from typing import Final

THREADS: Final = 2
"""Whose time a second of a query may be."""


class _NotHere:
    """An import hook that has no pandas."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Raises ModuleNotFoundError for it; anything else is for the next hook."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def answer_stdin() -> None:
    """Answer the request on stdin."""
    # Arrow looks for pandas when it is imported, which takes twice as long as all else together.
    sys.meta_path.insert(0, _NotHere)
    from rebalance_audit.agents.query_answer import answer_query  # noqa: PLC0415 - after the hook

    # Whoever asks counts the time from here.
    sys.stdout.write("\n")
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        return
    asked = json.loads(line)
    _limit_process(asked["memory_bytes"], asked["seconds"])
    sys.stdout.write(json.dumps(answer_query(asked)))


def _limit_process(memory_bytes: int, seconds: float) -> None:
    """Memory, no files, no dumps of memory; of processor time what a killed server would leave running."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    processor_s = int(used.ru_utime + used.ru_stime + seconds * THREADS) + 1
    for kind, most in (
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_CPU, processor_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bounded = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bounded, bounded))


if __name__ == "__main__":
    answer_stdin()
