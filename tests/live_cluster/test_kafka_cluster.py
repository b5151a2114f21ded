"""What is said of a cluster that does not answer; tests/broker asks real ones."""

import re

import kafka
import pytest
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, UnknownError

from rebalance_audit.live_cluster.kafka_cluster import KafkaCluster, KafkaSettings
from rebalance_audit.wire.segments.folder import SourceNotReadable


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (KafkaTimeoutError("Timed out after 9 ms"), "A broker of Kafka at h:9 cannot be reached: "),
        (KafkaConnectionError("1 refused"), "A broker of Kafka at h:9 cannot be reached: "),
        (UnknownError("no idea"), "Kafka at h:9 cannot be queried: "),
    ],
)
def test_a_broker_that_fails_after_the_first_answer(
    error: KafkaError, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not reported as an address that leads nowhere: the address was right."""

    class Failing:
        def __init__(self, **_: object) -> None:
            """It has connected."""

        def describe_topics(self) -> None:
            raise error

        def close(self) -> None:
            """Nothing is open."""

    monkeypatch.setattr(kafka, "KafkaAdminClient", Failing)
    with pytest.raises(SourceNotReadable, match=f"^{re.escape(sentence)}"):
        KafkaCluster("h:9", KafkaSettings()).topic_names()


def test_a_cluster_that_has_answered_is_not_looked_for_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Host, port and login were right: none of them is named as what may be wrong."""
    troubles = [None, KafkaTimeoutError("Timed out after 9 ms"), KafkaConnectionError("refused")]

    class Dying:
        def __init__(self, **_: object) -> None:
            """It has connected."""

        def describe_topics(self) -> list[object]:
            trouble = troubles.pop(0)
            if trouble is not None:
                raise trouble
            return []

        def close(self) -> None:
            """Nothing is open."""

    monkeypatch.setattr(kafka, "KafkaAdminClient", Dying)
    cluster = KafkaCluster("h:9", KafkaSettings())
    cluster.topic_names()
    for _ in range(2):
        with pytest.raises(SourceNotReadable) as raised:
            cluster.topic_names()
        said = str(raised.value)
        assert said.startswith("Kafka at h:9 answered before and cannot be reached any more: ")
        assert "password" not in said
