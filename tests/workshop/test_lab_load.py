"""What brokers did with the logs of `workshop/lab_load` is known of the very bytes that the code makes today."""

import hashlib

import pytest

from workshop.lab_load.cases import CASES
from workshop.lab_load.cases.random_changes import random_cases
from workshop.lab_load.truth import GOLDEN, Row, read_truth

TRUTHS = sorted(GOLDEN.glob("*.json"))

WHOLE = {
    "golden-broker-3.9-1": "3.9 4.0 4.1 4.2 4.3 4.4",
    "golden-broker-4.0-1": "3.9 4.0 4.1 4.2 4.3 4.4",
    "golden-migration-1": "4.1 4.2 4.3 4.4",
    "golden-offsets-1": "4.1 4.2 4.3 4.4",
    "golden-share-streams-0": "4.1 4.2 4.3 4.4",
    "golden-broker-4.4-1": "4.1 4.2 4.3 4.4",
    "plain-classic": "3.9 4.0 4.1 4.2 4.3 4.4",
    "plain-consumer": "3.9 4.0 4.1 4.2 4.3 4.4",
}
"""Logs without a fault, and the releases that must load them: their own and later ones."""


@pytest.fixture(scope="module", params=TRUTHS, ids=lambda path: path.stem)
def truth(request: pytest.FixtureRequest) -> Row:
    """What the brokers of one coordinator did."""
    return read_truth(request.param)


def test_the_truth_is_of_these_logs(truth: Row) -> None:
    """Each case is there, in its partition, with the bytes that were placed."""
    made = [
        (case.case_id, number, hashlib.sha256(CASES.segment_of(number)).hexdigest()[:16])
        for number, case in enumerate(CASES.cases)
    ]
    found = [(name, row["partition"], row["sha256"]) for name, row in truth["cases"].items()]
    assert found == made


def test_brokers_load_logs_without_faults(truth: Row) -> None:
    """Otherwise it is the lab that is at fault."""
    release = truth["release"].rpartition(".")[0]
    expected = [name for name, releases in WHOLE.items() if release in releases.split()]
    assert expected == [name for name in expected if truth["cases"][name]["loaded"]]


def test_random_logs_depend_on_the_seed_alone() -> None:
    """So a disagreement can be looked at again."""
    one, again, other = (random_cases(seed) for seed in (3, 3, 4))
    segments = [one.segment_of(number) for number in range(30)]
    assert segments == [again.segment_of(number) for number in range(30)]
    assert segments != [other.segment_of(number) for number in range(30)]


def test_brokers_speak_of_every_log(truth: Row) -> None:
    """A broker that says nothing of a log has not looked at it: it has not judged it."""
    assert [name for name, row in truth["cases"].items() if row["loaded"] is None] == []
