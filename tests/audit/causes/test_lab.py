"""What the audit says about the logs that the stories of the lab left on brokers of several releases (`make lab`)."""

import gzip
import re
from pathlib import Path
from typing import Final

import pytest

from rebalance_audit.audit.broker_log.fact import FactKind
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.time_zones import zone_of
from tests.support.archives import unpack
from tests.support.lab_truth import disagreements, read_truth
from workshop.lab.play import VERBS
from workshop.lab.stories import STORIES

UPDATED: Final = re.compile(
    r" (?P<level>[A-Z]+) .*\[GroupId (?P<group>[^]]+)\] "
    r"Member (?P<member>\S+) updated its subscribed (topics|regex)"
)
PACKED: Final = sorted((Path(__file__).parents[2] / "golden" / "by_hand").glob("lab-*.tar.xz"))


@pytest.fixture(scope="module", params=PACKED, ids=lambda packed: packed.name.partition(".tar")[0])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one release."""
    folder = tmp_path_factory.mktemp("lab")
    unpack(request.param, folder)
    return next(folder.iterdir())


@pytest.mark.parametrize("with_broker_log", [False, True], ids=["records", "broker-log"])
def test_the_audit_names_the_reason_of_every_epoch(played: Path, with_broker_log: bool) -> None:
    """The epochs are those of the stories; nothing else is proven; what is undecided has the reason; no gap."""
    assert disagreements(played, with_broker_log=with_broker_log) == []


def test_a_release_is_asked_about_at_least_forty_stories(played: Path) -> None:
    """In the releases that have share and streams groups, those too."""
    groups = {row["group"] for row in read_truth(played)}
    protocols = {group.split("-")[0] for group in groups}
    assert len(groups) >= 40
    assert {"consumer", "classic"} <= protocols
    assert ({"share", "streams"} <= protocols) == (played.name != "lab-4.0")


def test_groups_of_4_4_are_held_against_the_brokers_own_description(played: Path) -> None:
    """A share group that only a reset made, two instances of a Streams application: state, epochs, assignments."""
    described = {row["group"] for row in read_truth(played) if "described" in row}
    new = {"share-altered-and-never-joined", "streams-second-instance-restores"}
    assert (new <= described) == (played.name == "lab-4.4")


def test_what_a_broker_says_at_level_debug_is_read(played: Path) -> None:
    """Of consumer groups only there: a member's subscription changed. Each such line is a fact about its member."""
    with gzip.open(played / "server.log.gz", "rt", encoding="utf-8") as lines:
        updates = [match for line in lines if (match := UPDATED.search(line)) is not None]
    facts = LogReader(zone_of("UTC")).facts([played / "server.log.gz"])
    changed = [fact for fact in facts if fact.kind is FactKind.SUBSCRIPTION_CHANGED]
    assert [(fact.group_id, fact.member_id) for fact in changed] == [
        (match["group"], match["member"]) for match in updates
    ]
    assert ("DEBUG" in {match["level"] for match in updates}) == (played.name == "lab-4.2")


def test_stories_name_known_steps_and_causes() -> None:
    """No two stories share a group, so what one does is nothing that happens to another."""
    assert len({story.group_id for story in STORIES}) == len(STORIES)
    for story in STORIES:
        for step in story.steps():
            assert step.verb in VERBS, step.text
            for epochs in step.begins.values():
                assert {cause for epoch in epochs for cause in epoch} <= set(RebalanceCause)
