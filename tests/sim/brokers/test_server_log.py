"""What simulated brokers log."""

from rebalance_audit.coordinator.handling import CoordinatorConfig
from rebalance_audit.coordinator.requests.classic import JoinGroupProtocol, JoinGroupRequest
from rebalance_audit.sim.brokers.broker import Happening
from rebalance_audit.sim.brokers.server_log_classic import ClassicLines
from rebalance_audit.sim.brokers.server_log_modern import modern_lines
from rebalance_audit.wire.consumer_protocol import Subscription, encode_subscription
from tests.dsl import record_of
from tests.support.coordinator_driver import CoordinatorDriver


def test_a_classic_group_in_place_of_an_empty_consumer_group_is_no_downgrade() -> None:
    """No member is converted: Kafka deletes the empty group without logging it and the member joins a new one."""
    driver, config = CoordinatorDriver(), CoordinatorConfig()
    driver.load([record_of("3 2", driver.now_ms), record_of("6 2", driver.now_ms)])
    metadata = encode_subscription(Subscription(("foo",), None, (), -1, None, 1))
    range_alone = (JoinGroupProtocol("range", metadata),)
    join = JoinGroupRequest("g", 10_000, 60_000, "", "consumer", range_alone, "i1", client_id="A")
    driver.send(join)
    happening, written = Happening(join), [(driver.slot(), driver.changes)]
    lines = [
        *modern_lines(*written[0], happening, config),
        *ClassicLines(config.dialect).lines(driver.coordinator, happening, written),
    ]
    assert [line.partition(" g ")[0] for line in lines] == [
        "Static member with groupInstanceId=i1 and unknown member id joins group",
        "Preparing to rebalance group",
    ]
    assert "reason: Adding new member" in lines[1]
