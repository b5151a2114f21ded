"""A real broker loads records that were written past its coordinator."""

from collections import defaultdict
from pathlib import Path

import pytest

from rebalance_audit.replay.describe import describe_group
from rebalance_audit.replay.java_order import hash_code
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import encode_key, encode_value
from rebalance_audit.wire.topic_names import TopicNames, TopicNameSource
from tests.dsl import GROUP_ID, TOPIC_IDS, records, replayed
from tests.support.broker import running_broker
from tests.support.broker_folder import NEW_OFFSETS_TOPIC
from tests.support.broker_groups import as_admin_shows, described_groups
from tests.support.cluster_topics import ClusterTopic

pytestmark = pytest.mark.broker

VERSIONS = defaultdict(int, {RecordType.OFFSET_COMMIT: 4})
"""Value versions that 4.3.1 writes."""

TOPICS = {"foo": ClusterTopic(TOPIC_IDS["foo"], 6), "bar": ClusterTopic(TOPIC_IDS["bar"], 3)}

MIXED_GROUP = (
    "5 A instance=i1 client=c assignor=range timeout=300000;"
    " 5 B topics=foo,bar timeout=300000; 5 C classic=range timeout=300000;"
    " 3 4; 7 A 0-1; 7 B 2+bar:0; 7 C 3-5; 6 4 t=2000;"
    " 8 A 3/2 UNREVOKED 0-1@2|2@3; 8 B 4/3 UNRELEASED bar:0@4; 8 C 4/4 STABLE 3-5@4;"
    " 1 foo:0 5 le=3 m=text; 1 foo:5 6; 1 bar:0 7"
)


def test_a_broker_shows_of_written_records_what_we_show(tmp_path: Path) -> None:
    """A group in the middle of a rebalance, with a static and a classic member, and its offsets."""
    names = TopicNames()
    for name, topic in TOPICS.items():
        names.add(topic.topic_id, name, TopicNameSource.CLUSTER_METADATA)
    expected = describe_group(replayed(MIXED_GROUP), names)
    assert expected is not None
    log_partition = (hash_code(GROUP_ID) & 0x7FFFFFFF) % NEW_OFFSETS_TOPIC.partition_count
    written = [
        (log_partition, encode_key(each.key), encode_value(each.value, VERSIONS[each.record_type]))
        for each in records(MIXED_GROUP)
        if each.value is not None
    ]
    with running_broker(tmp_path / "broker", topics=TOPICS) as broker:
        broker.write_group_records(written)
        broker.restart()
        described = described_groups(broker, [GROUP_ID])
    assert described == [as_admin_shows(expected)]
