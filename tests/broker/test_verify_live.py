"""A live cluster as the source of `verify`: the leaders' batches, and what they cannot show."""

import json

import pytest

from tests.cli.call import call
from tests.support.broker import Broker
from tests.support.cluster_topics import ONLY_BROKER
from tests.workshop.test_json_schemas import checked

pytestmark = pytest.mark.broker


def test_a_live_cluster_would_load_what_it_has_loaded(broker: Broker) -> None:
    """Every partition loads, with the groups that are there; batches and checksums are unknown, not sound."""
    outcome = call("verify", f"kafka:127.0.0.1:{broker.port}", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    checked("verify", found)
    assert (found["outcome"], found["loses"]) == ("loads", False)
    assert "checksums" in found["unknown"]
    assert sum(partition["shape"]["records"] for partition in found["partitions"]) > 0
    assert {partition["shape"]["cleanable"] for partition in found["partitions"]} == {None}
    led = call(
        "verify", f"kafka:127.0.0.1:{broker.port}", "--json", "--coordinator", str(ONLY_BROKER)
    )
    assert len(json.loads(led.out)["partitions"]) == len(found["partitions"])
    other = call("verify", f"kafka:127.0.0.1:{broker.port}", "--coordinator", str(ONLY_BROKER + 1))
    assert (other.code, "leads no partition" in other.err) == (2, True)
