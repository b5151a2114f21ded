"""Scripts of what-if by an attacker: bounded, and refused with a sentence where a value has another type."""

import json
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit import limits
from rebalance_audit.cli.commands.predict import answer_rows
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.script_source import ScriptSource
from rebalance_audit.cli.source import LakeSource
from rebalance_audit.errors import BadRequest
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.steps import no_progress
from rebalance_audit.whatif.extraction import too_large
from rebalance_audit.whatif.history import arrivals_of
from rebalance_audit.whatif.script_file import script_from, script_text
from tests.hostile.tenant_log import TenantLog
from tests.support.lake_without_spark import write_lake
from tests.whatif.test_script_file import WHOLE

TEXT = script_text(WHOLE)


def edited(*path: Any, value: Any) -> bytes:
    """The script with another value at a place."""
    found = json.loads(TEXT)
    inner = found
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("settings", "assignors"), []),
        (("settings", "assignors"), [5]),
        (("settings", "rebalance_timeout_ms"), 1 << 62),
        (("settings", "heartbeat_interval_ms"), -5),
        (("habits", "latency_ms"), "x"),
        (("habits", "revoke_ms"), {"low": 0, "high": 1e300}),
        (("instances", 0, "topics"), [5]),
        (("instances", 0, "topics"), [[]]),
        (("topics", "t"), 1e300),
    ],
)
def test_a_value_of_another_kind_is_refused(path: tuple[Any, ...], value: object) -> None:
    """When it is read, not in the middle of a simulation."""
    with pytest.raises(BadRequest):
        script_from(edited(*path, value=value), "f.json")


def test_a_script_beyond_the_limits_is_refused() -> None:
    """A client writes any number of partitions into its assignment, and a person into a script."""
    assert too_large(script_from(TEXT.encode(), "f.json")) is None
    large = script_from(edited("topics", "t", value=limits.WHAT_IF_PARTITIONS.most + 1), "f.json")
    assert "partitions; what-if simulates at most 20,000" in str(too_large(large))
    long = script_from(edited("to", value=WHOLE.from_ms + 401 * 86_400_000), "f.json")
    assert "days; what-if simulates at most 400" in str(too_large(long))


def test_rates_are_not_as_many_as_a_partitions_number() -> None:
    """A partition's number is what a client wrote."""
    row = {
        "topic": "t",
        "topic_partition": (1 << 31) - 2,
        "first_committed_at": 1_000,
        "first_committed_offset": 1,
        "last_committed_at": 9_000,
        "last_committed_offset": 9,
    }
    assert arrivals_of([row], 0, 10_000).rates == {}


def test_a_group_that_cannot_be_simulated_does_not_end_predict(tmp_path: Path) -> None:
    """A session of 1 ms is over before any heartbeat; damaged rows are no history."""
    log = TenantLog()
    for number in range(1, 9):
        log.generation("calm", number, [("t", (0, 1))])
        log.generation("hasty", number, [("t", (0, 1))], session_timeout_ms=1)
        log.generation("odd", number, [("t", (0, 1))])
    tables = dict(audit_segments(log.write(tmp_path / "log")).tables)
    for row in tables["epochs"]:
        row["epoch"] = None if row["group_id"] == "odd" else row["epoch"]
    write_lake(tmp_path / "lake", tables, "blue")
    given = [
        ScriptSource(LakeSource(str(tmp_path / "lake"), "blue"), group)
        for group in ("hasty", "odd", "calm")
    ]
    first = [answer_rows(Invocation(), source, 1, no_progress)[0] for source in given]
    for row, words in zip(
        first, ("A heartbeat every 1 ms", "TypeError", "misses the log"), strict=True
    ):
        assert words in str(row), row
