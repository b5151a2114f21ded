"""What is predicted of about 400 logs with faults is what brokers of six releases did with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workshop.lab_load.cases import CASES
from workshop.lab_load.compare import all_logs, differences
from workshop.lab_load.truth import GOLDEN, read_truth

KNOWN = {
    # An open transaction keeps a deleted group in the cache: doLoadGroupsAndOffsets throws at its end.
    "transaction-of-removed-group": ["3.9-classic"],
    # GroupCoordinatorShard.replay has no case for type 15, also not for its tombstones.
    "tombstone-15-only": ["4.0-new"],
    # A group of offsets alone is replaced by a new consumer group, which has an assignment epoch.
    "group-tombstone-over-offsets": ["4.0-new", "4.1-new", "4.2-new", "4.3-new", "4.4-new"],
}
"""Logs that are predicted to load, the coordinators that fail, and why."""


@pytest.fixture(scope="module")
def logs() -> Iterator[Path]:
    """The logs of all cases."""
    with all_logs(CASES) as folder:
        yield folder


@pytest.mark.parametrize("truth", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_brokers_do_what_is_predicted(logs: Path, truth: Path) -> None:
    """Whether they load each log, at which offset they fail, and how many records they skip."""
    found = differences(read_truth(truth), CASES, logs)
    wrong = [each for each in found if truth.stem not in KNOWN.get(each.case_id, ())]
    assert [str(each) for each in wrong] == []
