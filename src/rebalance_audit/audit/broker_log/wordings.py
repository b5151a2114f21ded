"""Kafka's lines about groups, by release: the one table from a coordinator's words to facts.

In a pattern, {name} stands for a field of `BrokerFact`, {word} for one word and {…} for anything. SCOPED rows come
after `[GroupId g]` (in some releases `[Group g]` or `[GroupId=g]`, with a streams member `[GroupId g][MemberId m]`);
the others name the group themselves or none. Case does not matter, nor what follows a pattern. Where one pattern begins
another, the longer one comes first. A row without a kind tells nothing that the records do not hold, or nothing about a
group: its lines are known, and make no fact.

The releases are those whose source has the wording, from 2.0 on; the old and the new coordinator of 3.6 to 3.9
(`group.coordinator.new.enable`) differ, so both have rows. Sources: GroupCoordinator, GroupMetadata,
GroupMetadataManager (Scala); GroupMetadataManager, ClassicGroup, ConsumerGroup, StreamsGroup, OffsetMetadataManager,
GroupCoordinatorShard, GroupCoordinatorService, InternalTopicManager, TopicRegexResolver, CoordinatorRuntime and its
helpers (Java).

A table is written as text: the class that logs, and for each of its wordings the releases, the level at which Kafka
logs it, the kind of fact and the pattern, which goes on in lines that are indented further.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import FactKind
from rebalance_audit.audit.broker_log.wordings_new_coordinator import (
    AFTER_GROUP_ID,
    NEW_COORDINATOR,
)
from rebalance_audit.audit.broker_log.wordings_old_coordinator import OLD_COORDINATOR
from rebalance_audit.audit.broker_log.wordings_runtime import RUNTIME
from rebalance_audit.text_tables import text_rows

_ROW: Final = re.compile(
    r" {4}(?P<releases>[\d.-]+) +(?P<level>debug|info|warn|error) +(?:(?P<kind>[A-Z_]+): )?(?P<pattern>\S.*)"
)


class Wording(NamedTuple):
    """One row."""

    kind: FactKind | None
    releases: str
    level: str
    logger: str
    """The class that logs it, without its package."""
    pattern: str


def _rows(table: str) -> Iterator[Wording]:
    logger = ""
    for line in text_rows(table):
        row = _ROW.fullmatch(line)
        if row is not None:
            kind = FactKind[row["kind"]] if row["kind"] else None
            yield Wording(kind, row["releases"], row["level"], logger, row["pattern"])
        elif line.startswith(" "):
            raise ValueError(f"no row of the table of wordings: {line}")
        else:
            logger = line


PLAIN: Final[Sequence[Wording]] = tuple(_rows(OLD_COORDINATOR + NEW_COORDINATOR + RUNTIME))
SCOPED: Final[Sequence[Wording]] = tuple(_rows(AFTER_GROUP_ID))
