import pytest

from rebalance_audit.report.epoch_sentences import partitions_text


@pytest.mark.parametrize(
    ("partitions", "text"),
    [
        ([("orders", 4)], "orders 4"),
        ([("orders", 2), ("orders", 0), ("orders", 1)], "orders 0-2"),
        ([("orders", 0), ("orders", 2), ("orders", 3), ("orders", 7)], "orders 0,2-3,7"),
        ([("payments", 1), ("orders", 0)], "orders 0; payments 1"),
        ([(None, 5)], "topic-id 5"),
    ],
)
def test_neighbouring_partitions_are_joined(
    partitions: list[tuple[str | None, int]], text: str
) -> None:
    """Hundreds of partitions of one topic stay readable; a topic without a name is shown by its id."""
    rows = [
        {"topic": topic, "topic_id": "topic-id", "topic_partition": number}
        for topic, number in partitions
    ]
    assert partitions_text(rows) == text
