"""Work in copies of this process: they have what it has read without a byte of it being sent."""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import Any, TypeVar, cast

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def can_fork() -> bool:
    """Whether this system copies processes: Windows cannot, and on macOS system libraries do not survive it."""
    return sys.platform != "darwin" and "fork" in multiprocessing.get_all_start_methods()


def forked(work: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
    """The answers of `work` in the order of the items: the first is made here, each other one in a copy.

    Answers, and what `work` raises, must be picklable. Raises ChildProcessError where a copy ends without an answer.
    """
    context = multiprocessing.get_context("fork")
    copies: list[tuple[ForkProcess, Connection]] = []
    try:
        for item in items[1:]:
            here, there = context.Pipe(duplex=False)
            copy = context.Process(target=_answer, args=(there, work, item), daemon=True)
            copy.start()
            there.close()
            copies.append((copy, here))
        return [work(items[0]), *(_received(*copy) for copy in copies)]
    finally:
        for copy, here in copies:
            copy.terminate()
            copy.join()
            here.close()


def _answer(there: Connection, work: Callable[[Any], Any], item: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends its copies
    try:
        answer, error = work(item), None
    except Exception as raised:  # noqa: BLE001 - raised again in the first process
        answer, error = None, raised
    with suppress(BrokenPipeError):  # the first process has ended
        there.send((answer, error))


def _received(copy: ForkProcess, here: Connection) -> Any:
    try:
        answer, error = cast("tuple[Any, Exception | None]", here.recv())
    except EOFError:
        copy.join()
        raise ChildProcessError(
            f"A process that replayed groups ended early, with exit code {copy.exitcode}."
        ) from None
    if error is not None:
        raise error
    return answer
