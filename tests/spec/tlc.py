"""TLC, the model checker of TLA+, over the translated specifications."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.resources import checkout_root
from workshop.tlaplus.modules import CONFIGURATION, FOLDER

JARS: Final = checkout_root() / "jars" / "tlc"
COUNTS: Final = re.compile(
    r"(\d+) states generated, (\d+) distinct states found, (\d+) states left"
)
DEPTH: Final = re.compile(r"depth of the complete state graph search is (\d+)")
BROKEN: Final = re.compile(r"Error: Invariant (\w+) is violated")


class Explored(NamedTuple):
    """What TLC says of a module."""

    transitions: int
    states: int
    left: int
    """States that were found and not looked at; 0 = it has seen every state."""
    steps: int | None
    """How far the furthest state is from the first; None where it has not seen all."""
    broken: bool
    """Whether a state breaks a property."""


def explore(name: str, folder: Path, text: str | None = None) -> Explored:
    """Every state of a module, in a folder of its own; `text` takes the place of the module's file.

    Raises RuntimeError with TLC's words if it ends in any other way than with all states or a broken property.
    """
    given = checkout_root() / FOLDER
    module = folder / f"{name}.tla"
    if text is None:
        shutil.copy(given / module.name, module)
    else:
        module.write_text(text, encoding="utf-8")
    (folder / f"{name}.cfg").write_text(CONFIGURATION, encoding="utf-8")
    options = ["-workers", "1", "-metadir", str(folder / "states")]
    done = subprocess.run(
        [
            "java",
            "-XX:+UseSerialGC",
            "-Xmx3g",
            "-cp",
            f"{JARS}/*",
            "tlc2.TLC",
            *options,
            module.name,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    counts, broken = COUNTS.findall(done.stdout), BROKEN.search(done.stdout)
    if not counts or (done.returncode != 0 and broken is None):
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    depth = DEPTH.search(done.stdout)
    transitions, states, left = map(int, counts[-1])
    steps = None if depth is None or left else int(depth[1]) - 1
    return Explored(transitions, states, left, steps, broken is not None)
