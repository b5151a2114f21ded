"""Decoded records from Python."""

import json

import pytest

import rebalance_audit as ra
from tests.cli.call import call, segments

LOG = segments("failover")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({}, ()),
        ({"groups": ["klassik"]}, ("--group", "klassik")),
        ({"record_types": ["OffsetCommit", 2]}, ("--type", "1", "--type", "group-metadata")),
        (
            {"start": "2026-11-21T09:08:40Z", "end": "2026-11-21T09:09:00Z"},
            ("--from", "2026-11-21T09:08:40Z", "--to", "2026-11-21T09:09:00Z"),
        ),
    ],
)
def test_the_same_records_as_decode_prints(
    arguments: dict[str, list[str]], options: tuple[str, ...]
) -> None:
    """Object by line, also of some groups, types and times."""
    lines = call("decode", LOG, *options).out.splitlines()
    found = [json.loads(json.dumps(record)) for record in ra.decode_segments(LOG, **arguments)]  # type: ignore[arg-type]
    assert found == [json.loads(line) for line in lines]
    assert found


def test_transaction_markers() -> None:
    """`control` stands for them among the types."""
    log = segments("offsets")
    markers = [*ra.decode_segments(log, record_types=["control"])]
    assert markers
    assert all("control" in marker and "key" not in marker for marker in markers)


def test_what_cannot_be_decoded_is_refused() -> None:
    """A type that is none, a partition that is not there, a folder without segments."""
    with pytest.raises(ra.BadRequest, match="'Offset' is not a record type"):
        next(ra.decode_segments(LOG, record_types=["Offset"]))
    with pytest.raises(ra.UnknownPartition, match="no partition 49 here, only 2"):
        next(ra.decode_segments(LOG, partitions=[49]))
    with pytest.raises(ra.SourceNotReadable):
        next(ra.decode_segments(LOG / "nothing"))
