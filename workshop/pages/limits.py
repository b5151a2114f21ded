"""docs/limits.md: what input from outside may cost, from the table in the code."""

import sys
from pathlib import Path
from typing import Final

from rebalance_audit.limits import LIMITS, Limit
from rebalance_audit.resources import checkout_root
from workshop import generated_files

PAGE: Final = "docs/limits.md"

_HEAD: Final = """\
# Limits

Whoever may create a consumer group writes into the log: ids, topics, expressions, assignments, user data. A segment may
be damaged, or made to do damage. So time is linear in the bytes of the input, and memory depends on the largest batch
and on the current state of a group, whatever the lengths and numbers in the input say:

- Lengths and counts in records are believed only as far as there are bytes. A partition number, an offset or an epoch
  stands for itself: nothing has a place for each number below it.
- Files are opened only if they are regular ones, or links to such: a pipe, a socket, a device or a directory in the
  place of a segment ends the command with one sentence.
- Regular expressions are never run; they are compared in time linear in their length.
- [gold.convergence](tables.md#goldconvergence) has rows of members for which something happened in an epoch, and
  [gold.epochs](tables.md#goldepochs) counts the others in `members_unchanged`.

`tests/hostile` holds the program to this: each attack runs in a process that may take 10 s and 1 GiB, and work is
counted for inputs of one size and of twice that size.

<!-- written by `python -m workshop.pages.limits --write` -->

| limit | at most | beyond | why |
|---|---|---|---|
"""


def page() -> str:
    """The text of docs/limits.md."""
    return _HEAD + "".join(map(_row, LIMITS))


def _row(limit: Limit) -> str:
    return f"| {limit.what} | {_most(limit)} | {limit.beyond} | {limit.reason} |\n"


def _most(limit: Limit) -> str:
    """`128 MiB`, `1,000 epochs`."""
    if limit.unit == "bytes":
        for size, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
            if limit.most >> size and limit.most % (1 << size) == 0:
                return f"{limit.most >> size} {name}"
    return f"{limit.most:,} {limit.unit}".rstrip()


def due() -> dict[Path, str]:
    """The page in its place."""
    return {checkout_root() / PAGE: page()}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
