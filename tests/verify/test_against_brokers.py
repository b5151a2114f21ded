"""What is predicted of about 400 logs with faults is what brokers of six releases did with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workshop.lab_load.cases import CASES
from workshop.lab_load.compare import all_logs, differences
from workshop.lab_load.truth import GOLDEN, read_truth


@pytest.fixture(scope="module")
def logs() -> Iterator[Path]:
    """The logs of all cases."""
    with all_logs(CASES) as folder:
        yield folder


@pytest.mark.parametrize("truth", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_brokers_do_what_is_predicted(logs: Path, truth: Path) -> None:
    """Whether they load each log, at which offset they fail, and how many records they skip."""
    found = differences(read_truth(truth), CASES, logs)
    assert [str(each) for each in found] == []
