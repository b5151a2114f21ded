"""A log of groups whose ids, and all names in their records, are as long and as odd as clients may choose them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import encode_key, encode_value
from tests.dsl import TOPIC_IDS, records
from tests.wire.segments import hand_made

LAST: Final = "\U0010ffff"
"""No character sorts after it."""
IDS: Final = {
    "1 byte": "a",
    "31 bytes": "b" * 31,
    "32 bytes": "c" * 32,
    "33 bytes": "d" * 33,
    "255 bytes": "e" * 255,
    "32,767 bytes": "f" * 32_767,
    "other letters at the cut": "ü" * 33,
    "4 bytes at the cut": "g" * 31 + "\U0001f600" * 3,
    "4 bytes after the cut": "g" * 32 + "\U0001f600" * 3,
    "NUL": "h\0i",
    "NUL at the cut": "\0" * 33,
    "the last character at the cut": "j" * 31 + LAST * 3,
    "nothing but the last character": LAST * 40,
}
"""Group ids, by what is special about them; the first and the last one in their order are among the long ones."""
ENDLESS: Final = "nothing but the last character"
"""Of this one Spark's own writer keeps no maximum, and delta-rs' Arrow dataset finds nothing in such a file."""
OF_EARLIER_LAKE: Final = {name: group_id for name, group_id in IDS.items() if name != ENDLESS}
"""Those that are in the log of `unpack_earlier_lake`."""
CLUSTER: Final = "blue-" + "\U0001f600" * 10 + "-of-a-site-with-a-long-name"
BEGIN_MS: Final = 1_795_253_000_000
GROUP: Final = (
    "5 A instance=A client=A host=A; 3 1; 6 1; 7 A 0-2; 8 A 1/0 0-2; 1 foo:0 42 m=A id=foo"
)


TABLES: Final = (
    "gold.convergence",
    "gold.epochs",
    "gold.group_hours",
    "gold.group_states",
    "gold.members",
    "gold.ownership",
    "gold.rebalance_causes",
    "gold.rebalances",
    "gold.topics",
    "silver.group_records",
    "silver.offset_commits",
)
"""Those with as many rows of each group as of any other."""
NAMED: Final = frozenset(
    {
        "group_id",
        "member_id",
        "instance_id",
        "client_id",
        "client_host",
        "topic",
        "metadata",
        "slowest_member_id",
    }
)
"""Columns that have the group's id in a row of it, or nothing."""
FIELDS: Final = NAMED | {"group"}
"""Fields of keys and values that get it."""


def unpack_earlier_lake(folder: Path) -> Path:
    """The lake that an earlier release wrote of the log (tests/golden/PROVENANCE.md)."""
    with ZipFile(Path(__file__).parents[1] / "golden" / "lakes" / "long-ids.zip") as packed:
        packed.extractall(folder)
    return folder / "lake"


def named_columns(table: str) -> list[str]:
    """Columns of one of TABLES by which a group can be looked for."""
    return sorted(NAMED.intersection(table_schemas()[table].column_names))


def write_log(folder: Path, ids: Mapping[str, str] = IDS) -> Path:
    """A group for each id, with a topic of that name, in one log partition."""
    found = list[hand_made.Rec]()
    for number, name in enumerate(ids.values(), 1):
        topic_id = bytes([number]) * 16
        for record in records(GROUP, BEGIN_MS):
            at = len(found)
            key, value = (_named(fields, name) for fields in (record.key, record.value))
            has_topic_id = record.record_type is RecordType.OFFSET_COMMIT
            written = encode_value(value, 4 if has_topic_id else 0).replace(
                TOPIC_IDS["foo"], topic_id
            )
            found.append((at, BEGIN_MS + 1000 * at, encode_key(key), written))
    partition = folder / "__consumer_offsets-0"
    partition.mkdir(parents=True)
    (partition / f"{0:020d}.log").write_bytes(b"".join(hand_made.batch([each]) for each in found))
    return folder


def _named(fields: Any, name: str) -> Any:
    return fields._replace(**dict.fromkeys(FIELDS.intersection(fields._fields), name))
