"""What a real broker does by hand-made requests, and what the audit of its log says about it."""

import logging
from pathlib import Path

import pytest

from tests.support.lab_truth import disagreements
from workshop.lab.lab import PINNED, run_lab

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a broker on which all stories were played; one that goes otherwise twice fails here.

    On a busy machine the broker's timers overtake a story's heartbeats, and its condition is not met: all are played
    once more, on a new broker.
    """
    folder = tmp_path_factory.mktemp("lab")
    try:
        run_lab(folder / "broker", PINNED, folder / "played")
    except ExceptionGroup as problem:
        logging.getLogger(__name__).warning("played again, since %s", problem.exceptions)
        run_lab(folder / "second-broker", PINNED, folder / "played-again")
        return folder / "played-again"
    return folder / "played"


@pytest.mark.parametrize("with_broker_log", [False, True], ids=["records", "broker-log"])
def test_the_audit_names_the_reason_of_every_epoch(played: Path, with_broker_log: bool) -> None:
    """The epochs are those of the stories; nothing else is proven; what is undecided has the reason; no gap."""
    assert disagreements(played, with_broker_log=with_broker_log) == []
