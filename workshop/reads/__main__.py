"""`make reads`: plays the stories with real clients and says where bounds do not hold what these read.

`--keep` replaces the captures in `tests/golden/reads` by those of this run.
"""

import argparse
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rebalance_audit.resources import checkout_root
from workshop.accuracy.reads import costs_of_capture, table
from workshop.reads.readers import CLIENTS
from workshop.reads.recording import record

GOLDEN: Final = checkout_root() / "tests" / "golden" / "reads"


def main() -> int:
    """Returns the exit code: whether any bound is wrong."""
    options = argparse.ArgumentParser(prog="workshop.reads", description=__doc__)
    options.add_argument("clients", nargs="*", default=CLIENTS, choices=CLIENTS)
    options.add_argument("--keep", action="store_true", help="keep the captures as golden ones")
    asked = options.parse_args()
    wrong = 0
    for client in asked.clients:
        with TemporaryDirectory() as scratch:
            folder = Path(scratch) / client
            record(Path(scratch) / "broker", client, folder)
            if asked.keep:
                GOLDEN.mkdir(exist_ok=True)
                with tarfile.open(GOLDEN / f"{client}.tar.xz", "w:xz") as archive:
                    archive.add(folder, folder.name)
            found = costs_of_capture(folder)
        wrong += len(found.outside)
        sys.stdout.write("\n".join((client, *table(found), *found.outside)) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
