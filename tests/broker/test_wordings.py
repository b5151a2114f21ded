"""The table of wordings against the texts in the classes of Kafka's own coordinator."""

import re
import zipfile
from collections.abc import Iterator
from typing import Final

import pytest

from rebalance_audit.audit.broker_log.message import read_message
from rebalance_audit.resources import checkout_root

pytestmark = pytest.mark.broker

JARS: Final = checkout_root() / "jars" / "broker"
CLASSES: Final = re.compile(
    r".*/(?:GroupMetadataManager|ClassicGroup|ConsumerGroup|StreamsGroup|ShareGroup|OffsetMetadataManager"
    r"|GroupCoordinatorShard|TopicRegexResolver|InternalTopicManager|CoordinatorRuntime|CoordinatorTimerImpl"
    r"|CoordinatorExecutorImpl|CoordinatorLoaderImpl)(?:\$[\w$]+)?\.class"
)
TEMPLATE: Final = re.compile(r"\{\}")
SENTENCES: Final = {
    "[GroupId {}] {}.": "[GroupId g] Failed to compute a new target assignment for epoch 7: no.",
}
"""Texts whose words are put together elsewhere in the class, and what they become."""

_UTF8, _STRING, _TWO_PLACES = 1, 8, {5, 6}
_WIDTH: Final = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4} | {
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
"""Tag of an entry of a constant pool -> bytes after the tag (JVM specification, 4.4)."""


def strings_of(code: bytes) -> Iterator[str]:
    """The string constants of a class file."""
    count, at, index = int.from_bytes(code[8:10]), 10, 1
    texts: dict[int, str] = {}
    wanted: list[int] = []
    while index < count:
        tag = code[at]
        if tag == _UTF8:
            size = int.from_bytes(code[at + 1 : at + 3])
            texts[index] = code[at + 3 : at + 3 + size].decode("utf-8", "replace")
            at += 3 + size
        else:
            if tag == _STRING:
                wanted.append(int.from_bytes(code[at + 1 : at + 3]))
            at += 1 + _WIDTH[tag]
        index += 2 if tag in _TWO_PLACES else 1
    return (texts[each] for each in wanted)


def formats() -> set[str]:
    """Every text with placeholders of a logger in the coordinator's classes."""
    found: set[str] = set()
    for name in ("kafka-group-coordinator-4*.jar", "kafka-coordinator-common-4*.jar"):
        (jar,) = JARS.glob(name)
        with zipfile.ZipFile(jar) as archive:
            for member in filter(CLASSES.fullmatch, archive.namelist()):
                found |= {text for text in strings_of(archive.read(member)) if "{}" in text}
    return found


def filled(text: str) -> str:
    """The text with values as the coordinator would fill them in."""
    text = re.sub(
        r"(?:from|for|to|coordinator) \{\}(?= (?:with|in|is|because|due)|:)",
        _partition,
        text,
        count=1,
    )
    return TEMPLATE.sub("7", text)


def _partition(found: re.Match[str]) -> str:
    return found[0].replace("{}", "__consumer_offsets-7")


def test_every_text_of_the_coordinator_is_known() -> None:
    """Each is a wording, or one of those that say nothing: a new release brings new ones, which fail here."""
    known = formats()
    assert "Stabilized group {} generation {} with {} members." in known
    unread = sorted(
        text
        for text in known
        if read_message(SENTENCES.get(text, filled(text))) is None
        and read_message(TEMPLATE.sub("7", text)) is None
    )
    assert unread == []
