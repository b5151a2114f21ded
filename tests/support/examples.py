"""How many examples property tests try: a few each time, many with EXAMPLES=20, as `make swarm` sets it."""

import os

TIMES = int(os.environ.get("EXAMPLES", "1"))


def examples(count: int) -> int:
    """A number of examples, multiplied by EXAMPLES."""
    return count * TIMES
