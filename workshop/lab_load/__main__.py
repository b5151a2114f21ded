"""`make lab-load`: places logs with faults under brokers of several releases, and says where the predictions are wrong.

`--keep` replaces the truth in `tests/golden/loads` by what the brokers of this run did. Without releases no broker is
started: the predictions are held against the truth that is there.
"""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from workshop.lab_load.cases import CASES
from workshop.lab_load.cases.random_changes import random_cases
from workshop.lab_load.compare import all_logs, differences
from workshop.lab_load.lab import COORDINATORS
from workshop.lab_load.truth import GOLDEN, observed, read_truth, truth_path, write_truth

_PAIRS: Final = [(release, kind) for release, kinds in COORDINATORS.items() for kind in kinds]


def main() -> int:
    """Returns the exit code: whether any prediction was wrong."""
    options = argparse.ArgumentParser(prog="workshop.lab_load", description=__doc__)
    options.add_argument("releases", nargs="*", help=", ".join(COORDINATORS))
    options.add_argument("--keep", action="store_true", help="keep what the brokers did as truth")
    options.add_argument(
        "--random", type=int, metavar="SEED", help="other logs, with random changes"
    )
    asked = options.parse_args()
    if unknown := set(asked.releases) - set(COORDINATORS):
        options.error(f"no brokers of {', '.join(sorted(unknown))}")
    cases = CASES if asked.random is None else random_cases(asked.random)
    if cases is not CASES and (asked.keep or not asked.releases):
        options.error("the truth of random changes is not kept")
    truths = []
    with TemporaryDirectory() as scratch:
        for release, kind in _PAIRS:
            if release not in asked.releases:
                continue
            began = time.monotonic()
            truth = observed(release, kind, Path(scratch) / f"{release}-{kind}", cases)
            sys.stdout.write(f"{release} {kind}: {time.monotonic() - began:.0f} s\n")
            truths.append(truth)
            if asked.keep:
                write_truth(truth, truth_path(release, kind))
    if not asked.releases:
        truths = [read_truth(path) for path in sorted(GOLDEN.glob("*.json"))]
    wrong = 0
    with all_logs(cases) as folder:
        for truth in truths:
            found = [*differences(truth, cases, folder)]
            contradicted = sum(not each.is_open for each in found)
            wrong += contradicted
            sys.stdout.write(
                f"{truth['release']} {truth['coordinator']}: {len(truth['cases'])} logs,"
                f" {contradicted} predictions are wrong, {len(found) - contradicted} are open\n"
            )
            for each in found:
                sys.stdout.write(f"  {each}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
