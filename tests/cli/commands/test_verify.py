import json
import shutil
from pathlib import Path
from zipfile import ZipFile

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from jsonschema import Draft202012Validator

from rebalance_audit.cli.exit_codes import BAD_ARGUMENTS, CHECK_FAILED, DONE
from tests.cli.call import CAPTURES, call, segments

SCHEMA = Path(__file__).parents[3] / "docs" / "json" / "verify.schema.json"


@pytest.mark.parametrize(
    ("capture", "arguments", "code", "first"),
    [
        ("compacted", (), DONE, "2 partitions would load on Kafka 4.4."),
        (
            "compacted",
            ("--as", "3.9 new"),
            CHECK_FAILED,
            "Partition 1 would not load on Kafka 3.9: it fails at offset 3,692 and takes",
        ),
        (
            "broker-3.7",
            ("--partition", "1"),
            CHECK_FAILED,
            "Partition 1 would not load on Kafka 4.4: it fails at offset 1 and takes 3 groups with it.",
        ),
        (
            "share-streams",
            ("--as", "3.9"),
            CHECK_FAILED,
            "3 partitions would load on Kafka 3.9 (classic coordinator), with 120 records skipped.",
        ),
    ],
)
def test_the_answer_comes_first(
    capture: str, arguments: tuple[str, ...], code: int, first: str
) -> None:
    """A partition that fails, or a record that is skipped, makes the exit code 4."""
    outcome = call("verify", segments(capture), *arguments)
    assert outcome.code == code
    assert outcome.out.startswith(first)


@pytest.mark.parametrize(
    ("broker", "code", "said"),
    [
        ("1", DONE, "Broker 1 also leads partitions that are not here: 0, 1, 3."),
        (
            "7",
            BAD_ARGUMENTS,
            "broker 7 leads no partition of __consumer_offsets; those that do: 1.",
        ),
    ],
)
def test_a_coordinator_is_that_of_the_partitions_that_it_leads(
    broker: str, code: int, said: str
) -> None:
    """By the cluster's metadata log beside the segments; partitions that the copy lacks are named."""
    outcome = call("verify", segments("consumer-static"), "--coordinator", broker)
    assert (outcome.code, said in outcome.err) == (code, True)
    assert outcome.out.startswith("1 partition would load") == (code == DONE)


def test_a_log_without_metadata_does_not_say_who_leads(tmp_path: Path) -> None:
    """An error that says what to give instead."""
    log = Path(segments("consumer-static")) / "__consumer_offsets-2"
    shutil.copytree(log, tmp_path / log.name)
    outcome = call("verify", str(tmp_path), "--coordinator", "1")
    assert (outcome.code, "give --partition" in outcome.err) == (BAD_ARGUMENTS, True)


@pytest.mark.parametrize("release", ["3.3", "3.9 new", "4.4"])
def test_json_is_as_its_schema_says(release: str) -> None:
    """Every key is documented, whatever the outcome."""
    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    for capture in ("broker-3.7", "compacted", "offsets"):
        outcome = call("verify", segments(capture), "--as", release, "--json", "--partition", "1")
        validator.validate(json.loads(outcome.out))


def test_a_partition_shows_its_groups_with_their_last_offsets() -> None:
    """What is lost if the partition is: the blast radius, before it happens."""
    outcome = call("verify", segments("broker-4.4"), "--partition", "3", "--json")
    (partition,) = json.loads(outcome.out)["partitions"]
    assert [(each["group_id"], each["offsets"]) for each in partition["groups"]] == [
        ("mig", {"payments": {"0": 16, "1": 23, "2": 21}})
    ]


def test_an_unknown_release_or_partition_is_an_error_of_the_command_line() -> None:
    """The sentence names what there is."""
    outcome = call("verify", segments("compacted"), "--as", "2.8")
    assert outcome.code == BAD_ARGUMENTS
    assert "3.9, 3.8" in outcome.err or "3.3, 3.4" in outcome.err
    assert call("verify", segments("compacted"), "--partition", "7").code == BAD_ARGUMENTS


def test_damage_depends_on_how_the_broker_stopped(tmp_path: Path) -> None:
    """After a clean stop the loader reads on; after a crash, recovery cuts the log before the damage."""
    log = tmp_path / "__consumer_offsets-1" / f"{0:020}.log"
    log.parent.mkdir()
    data = bytearray((segments("broker-4.4") / log.parent.name / log.name).read_bytes())
    data[16] = 9  # the magic of the first batch
    log.write_bytes(data)
    (partition,) = json.loads(call("verify", tmp_path, "--json").out)["partitions"]
    assert partition["failure"]["rule"] == "unreadable_batch"
    assert partition["after_crash"]["outcome"] == "fails"
    data[16], data[17] = 2, data[17] ^ 1  # its checksum
    log.write_bytes(data)
    (partition,) = json.loads(call("verify", tmp_path, "--json").out)["partitions"]
    assert partition["outcome"] == "loads"
    assert partition["after_crash"]["cut_bytes"] == len(data)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake that the first release wrote."""
    with ZipFile(CAPTURES.parent / "lakes" / "0.1.0.zip") as packed:
        packed.extractall(tmp_path)
    return tmp_path / "lake"


def test_a_lake_shows_records_and_no_batches(lake: Path) -> None:
    """What bronze cannot show is said to be unknown, not sound."""
    outcome = call("verify", "--lake", lake, "--json")
    assert outcome.code == DONE
    found = json.loads(outcome.out)
    assert "checksums" in found["unknown"]
    assert [(each["outcome"], each["shape"]["records"]) for each in found["partitions"]] == [
        ("loads", 462)
    ]


def test_offsets_far_apart_cost_nothing(lake: Path) -> None:
    """A file with any offsets was ingested."""
    records = DeltaTable(lake / "bronze" / "records")
    first = records.to_pyarrow_table(filters=[("offset", "=", 0)])
    far = pa.array([1 << 62], pa.int64())
    write_deltalake(records, first.set_column(2, "offset", far), mode="append")
    (partition,) = json.loads(call("verify", "--lake", lake, "--json").out)["partitions"]
    assert partition["shape"]["records"] == 463
