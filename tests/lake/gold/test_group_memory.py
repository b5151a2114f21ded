"""What is remembered of a group between two runs."""

import orjson

from rebalance_audit.lake.gold.group_memory import AskedTopics, Memory, Provisional, answers
from rebalance_audit.wire.topic_names import TopicNames, TopicNameSource, topic_id_text

ONE, TWO = b"1" * 16, b"2" * 16


def epoch(number: int) -> dict[str, int]:
    """The key of a row of gold.epochs."""
    return {"incarnation": 0, "epoch": number}


def test_provisional_rows_that_are_not_handed_out_again_are_gone() -> None:
    """Of the rows that the log's end had called forth those stay that come again, whether for good or not."""
    first = Provisional(())
    first.note("epochs", epoch(1))
    first.finishing = True
    for number in (2, 3):
        first.note("epochs", epoch(number))
    first.note("members", {"incarnation": 0, "member_id": "a", "first_offset": 5})
    fields = Memory({"format": 1}, 9, first.keys, ["t"]).fields_as_json()
    memory = Memory.from_json(
        orjson.dumps({name: orjson.Fragment(text) for name, text in fields.items()})
    )
    assert (memory.audit, memory.next_offset) == ({"format": 1}, 9)
    assert (memory.provisional, memory.topics) == (first.keys, ["t"])
    second = Provisional(memory.provisional)
    second.note("epochs", epoch(2))
    second.finishing = True
    second.note("members", {"incarnation": 0, "member_id": "a", "first_offset": 7})
    assert sorted(second.gone(), key=repr) == [
        ("epochs", epoch(3)),
        ("members", {"incarnation": 0, "member_id": "a", "first_offset": 5}),
    ]
    assert second.keys == [("members", 0, "a", 7)]


def test_topics_whose_answer_may_change_are_remembered() -> None:
    """A name that is known stays; one that is not, a deletion and the lives of a name may become known later."""
    names = TopicNames()
    names.add(ONE, "orders", TopicNameSource.OFFSET_COMMIT)
    topics = AskedTopics(names)
    options = topics.options()
    assert options.topic_name(ONE) == "orders"
    assert topics.asked == set()
    assert options.topic_name(TWO) is None
    assert options.topic_deleted_at(ONE) is None
    assert options.topic_lives("bills") == ()
    assert topics.asked == {topic_id_text(TWO), topic_id_text(ONE), "bills"}
    later = TopicNames()
    later.merge(names.values())
    later.add(TWO, "bills", TopicNameSource.CLUSTER_METADATA, 1_000)
    changed = {
        topic for topic, answer in answers(later).items() if answers(names).get(topic) != answer
    }
    assert changed == {topic_id_text(TWO), "bills"}
