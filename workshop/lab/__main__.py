"""`make lab`: plays the stories on brokers of several releases and says where the audit is wrong.

`--keep` replaces the logs in `tests/golden/by_hand` by those of this run.
"""

import argparse
import sys
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rebalance_audit.resources import checkout_root
from tests.support.lab_truth import disagreements
from workshop.lab.lab import run_lab
from workshop.lab.story import RELEASES

GOLDEN: Final = checkout_root() / "tests" / "golden" / "by_hand"


def main() -> int:
    """Returns the exit code: whether any audit was wrong."""
    options = argparse.ArgumentParser(prog="workshop.lab", description=__doc__)
    options.add_argument("releases", nargs="+", choices=RELEASES)
    options.add_argument("--keep", action="store_true", help="keep the logs as golden logs")
    asked = options.parse_args()
    wrong = 0
    for release in asked.releases:
        with TemporaryDirectory() as scratch:
            folder = Path(scratch) / f"lab-{release}"
            began = time.monotonic()
            run_lab(Path(scratch) / "broker", release, folder)
            took = time.monotonic() - began
            found = {
                str(each)
                for with_broker_log in (False, True)
                for each in disagreements(folder, with_broker_log=with_broker_log)
            }
            wrong += len(found)
            sys.stdout.write(
                f"{release}: {took:.0f} s, the audit is wrong in {len(found)} points\n"
            )
            sys.stdout.flush()
            for each in sorted(found):
                sys.stdout.write(f"  {each}\n")
            if asked.keep:
                with tarfile.open(GOLDEN / f"lab-{release}.tar.xz", "w:xz") as archive:
                    archive.add(folder, folder.name)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
