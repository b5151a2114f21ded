"""What an anonymised log is compared with: the names in the original, and its audit under these names."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rebalance_audit.anonymise.log import Anonymised, Choices, anonymise_log
from rebalance_audit.anonymise.protocol_words import ASSIGNORS_AND_PROTOCOLS, SETTINGS, TOPICS
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.wire.consumer_protocol import Subscription, read_subscription
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.batches import Batch, read_batches

KEY = b"a key that tests use, 32 bytes.."
SHORT = 4
"""Shorter names are in any bytes by chance."""
BY_NAME = {"slowest_member_id", "finding_id", "topic_hash"}
"""Columns that ties between names decide, or that are made of names."""
IN_JSON = "facts"

Rows = Mapping[str, list[dict[str, Any]]]


def anonymised(
    log: Path, out: Path, *broker_logs: Path, shifts_times: bool = False, **options: Any
) -> Anonymised:
    """The log with pseudonyms in `out`, and the names behind them."""
    choices = Choices(shifts_times=shifts_times, with_mapping=True)
    return anonymise_log(log, out, KEY, broker_logs, choices=choices, **options)


def rows_under_old_names(found: Anonymised, log: Path, **options: Any) -> dict[str, list[str]]:
    """Table -> rows of its audit as text, pseudonyms replaced by the names behind them, in order."""
    behind = {made: name for names in found.mapping.values() for name, made in names.items()}
    longest_first = sorted(behind, key=len, reverse=True)
    pseudonym = re.compile("|".join(map(re.escape, longest_first)) or "$^")
    return _comparable(audit_segments(log, **options).tables, pseudonym, behind)


def rows(log: Path, **options: Any) -> dict[str, list[str]]:
    """Table -> rows of the audit as text, in order."""
    return _comparable(audit_segments(log, **options).tables, re.compile("$^"), {})


def _comparable(
    tables: Rows, pseudonym: re.Pattern[str], behind: Mapping[str, str]
) -> dict[str, list[str]]:
    def plain(value: Any) -> Any:
        match value:
            case str():
                # Names in a sentence are in order of names.
                return sorted(
                    re.split(r"[ ,.:;]+", pseudonym.sub(lambda found: behind[found[0]], value))
                )
            case dict():
                kept = [name for name in value if name not in BY_NAME]
                return sorted([(plain(name), plain(value[name])) for name in kept], key=repr)
            case list() | tuple():
                return sorted(map(plain, value), key=repr)
            case _:
                return value

    def as_text(row: Mapping[str, Any]) -> str:
        facts = row.get(IN_JSON)
        return repr(plain({**row, IN_JSON: json.loads(facts)} if facts else row))

    return {name: sorted(map(as_text, rows)) for name, rows in tables.items()}


def names_in(log: Path) -> set[str]:
    """Texts of records and names of topics, of four characters or more, but what is in a word of the protocol."""
    found: set[str] = set()
    for _, record in decoded_records(log):
        found.update(_texts((record.key, record.value)))
    found.update(topic.name for topic in read_topic_names(open_log_folder(log)).values())
    found.update(name.removeprefix("/") for name in list(found))
    words = " ".join((*ASSIGNORS_AND_PROTOCOLS, *SETTINGS, *TOPICS))
    return {name for name in found if len(name) >= SHORT and name not in words}


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case bytes():
            read = read_subscription(value)
            if isinstance(read, Subscription):
                yield from _texts(tuple(read)[:1])
        case tuple():
            for each in value:
                yield from _texts(each)


def plain_bytes(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The bytes of each file, and of the records of each compressed batch."""
    for file in sorted(folder.rglob("*")):
        if not file.is_file():
            continue
        yield file, file.read_bytes()
        if file.suffix != ".log" or "__" not in file.parent.name:
            continue
        for batch in read_batches(file):
            assert isinstance(batch, Batch), (file, batch)
            records = batch.records()
            assert isinstance(records, list), (file, records)
            if batch.header.codec != "none":
                yield file, b"".join((each.key or b"") + (each.value or b"") for each in records)


def hashes_of_topics(log: Path) -> set[int]:
    """The hashes that groups recorded of their topics."""
    return {getattr(record.value, "metadata_hash", 0) for _, record in decoded_records(log)} - {0}


def decoded_records(log: Path) -> Iterator[tuple[int, Record]]:
    """(partition, record) of each record that can be decoded."""
    for file in sorted(log.glob("__consumer_offsets-*/*.log")):
        for batch in read_batches(file):
            if isinstance(batch, Batch) and not batch.header.is_control:
                records = batch.records()
                assert isinstance(records, list)
                for each in records:
                    record = decode_record(each.key, each.value)
                    if isinstance(record, Record):
                        yield int(file.parent.name.rpartition("-")[2]), record
