"""Whole simulations: reproducible, correct under every fault, readable by everything that reads logs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.replay.shard import Shard
from rebalance_audit.replay.step import Policy
from rebalance_audit.sim.brokers import partition_log
from rebalance_audit.sim.invariants.rules import require_equal
from rebalance_audit.sim.options import Overrides, SimulationOptions, draw_options
from rebalance_audit.sim.scenario import Simulation, simulate
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.log_entries import apply_entry, entries_of, log_entries

pytestmark = pytest.mark.swarm

SHORT = Overrides(minutes=1)
SEEDS = int(os.environ.get("SWARM_SEEDS", "24"))
FIRST_SEED = int(os.environ.get("SWARM_FIRST_SEED", "0"))


def written(folder: Path) -> dict[str, bytes]:
    """Every file of a simulation."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_every_seed_keeps_the_invariants_and_comes_to_rest(seed: int) -> None:
    """Shapes, faults and dialect are drawn from the seed; a failure names it and who blocks whom."""
    simulation = simulate(seed, SHORT if SEEDS < 100 else None)
    assert simulation.invariants.checks


def test_an_upgrade_between_a_cooperative_members_join_and_its_sync_is_no_second_owner() -> None:
    """It continues with the partitions of the previous generation, which is Kafka's gap and not a broken rule."""
    assert simulate(40_196).invariants.checks


def test_a_streams_member_that_missed_the_loss_of_its_tasks_is_no_second_owner() -> None:
    """It opens what an earlier answer gave it, since no later one repeats it: Kafka's gap as well."""
    assert simulate(900_542).invariants.checks


@pytest.mark.parametrize("dialect", list(Dialect))
def test_every_dialect_works_with_members_of_every_kind(dialect: Dialect) -> None:
    """Six groups per release, so that each meets most kinds of clients."""
    simulation = simulate(3, Overrides(minutes=1, groups=6, dialect=dialect))
    assert simulation.truth.epochs()


def test_the_same_seed_writes_the_same_bytes_also_in_another_process(tmp_path: Path) -> None:
    """Neither the order of sets nor anything else outside the seed decides."""
    for name in ("once", "twice"):
        simulate(12, Overrides(minutes=1, groups=5)).write(tmp_path / name)
    command = [
        *(sys.executable, "-m", "rebalance_audit.cli.main", "simulate", "--seed", "12"),
        *("--minutes", "1", "--groups", "5", "--out", str(tmp_path / "elsewhere")),
    ]
    subprocess.run(
        command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "77"}
    )
    once = written(tmp_path / "once")
    assert len(once) > 2
    assert once == written(tmp_path / "twice") == written(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("seed", "stamps_append_time"), [(3, False), (6, False), (6, True), (16, True)]
)
def test_a_log_that_went_to_its_files_as_it_grew_is_the_same(
    seed: int, stamps_append_time: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reload, compaction and comparisons read the log back from there; hardly anything stays in memory."""

    def drawn() -> SimulationOptions:
        options = draw_options(seed, Overrides(minutes=1, groups=6, partitions=2))
        options.cluster.log.stamps_append_time = stamps_append_time
        options.cluster.log.segment_bytes = 8_000
        options.faults.cleanings = options.faults.fail_overs = 3.0
        return options

    in_memory = Simulation(seed, drawn())
    in_memory.run()
    in_memory.write(tmp_path / "memory")
    monkeypatch.setattr(partition_log, "MEMORY_BYTES_MAX", 2_000)
    spilling = Simulation(seed, drawn(), folder=tmp_path / "files")
    spilling.run()
    assert any(served.log.was_cleaned for served in spilling.cluster.partitions.values())
    spilling.write(tmp_path / "files")
    assert written(tmp_path / "files") == written(tmp_path / "memory")


def replayed(folder: Path, partition: int, policy: Policy) -> Shard:
    """A shard as any reader of the files builds it."""
    shard = Shard(partition, policy)
    for entry in entries_of(folder, partition):
        apply_entry(shard, entry)
    return shard


@pytest.mark.parametrize("seed", [5, 9, 16, 21])
def test_the_files_replay_to_the_state_that_the_brokers_ended_in(seed: int, tmp_path: Path) -> None:
    """With any codec, segment size, compaction and transactions that the seed draws."""
    simulation = simulate(seed, SHORT)
    simulation.write(tmp_path)
    for number, served in simulation.cluster.partitions.items():
        if served.log.next_offset:
            policy = Policy.LENIENT if served.log.was_cleaned else Policy.STRICT
            require_equal(served.shard, replayed(tmp_path, number, policy), str(number))


def test_topic_names_are_read_from_the_metadata_log(tmp_path: Path) -> None:
    """Deleted topics keep their names, and a topic that was created again has two ids."""
    simulation = Simulation(1, draw_options(1, SHORT))
    topics = simulation.cluster.topics
    first = topics.create("orders", 3)
    topics.grow("orders", 5)
    topics.delete("orders")
    second = topics.create("orders", 2)
    simulation.cluster.partition_of("g")
    simulation.write(tmp_path)
    (tmp_path / "__consumer_offsets-0").mkdir(exist_ok=True)
    (tmp_path / "__consumer_offsets-0" / f"{0:020d}.log").touch()
    names = read_topic_names(open_log_folder(tmp_path))
    assert names.ids_of("orders") == (first.topic_id, second.topic_id)
    assert names[first.topic_id].is_deleted
    assert not names[second.topic_id].is_deleted


def truth_rows(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Rows of one kind."""
    for line in (folder / "truth.jsonl").read_bytes().splitlines():
        row = orjson.loads(line)
        if row["kind"] == kind:
            yield row


def test_truth_has_every_epoch_member_and_use(tmp_path: Path) -> None:
    """Rows of all kinds, times in order, causes known."""
    simulate(12, Overrides(minutes=1, groups=5)).write(tmp_path)
    epochs = list(truth_rows(tmp_path, "epoch"))
    assert epochs
    for row in epochs:
        times = [
            row["join_started_at"],
            row["started_at"],
            row["target_installed_at"],
            row["converged_at"],
        ]
        known = [at_ms for at_ms in times if at_ms is not None]
        assert known == sorted(known), row
    (run,) = truth_rows(tmp_path, "run")
    assert run["seed"] == 12
    assert all(row["joined_at"] for row in truth_rows(tmp_path, "member"))
    assert all(row["client_id"] for row in truth_rows(tmp_path, "ownership"))


def test_bulk_commits_are_all_in_the_files_and_the_last_of_each_key_in_the_state(
    tmp_path: Path,
) -> None:
    """What the shortcut applies equals the replay of every record."""
    simulation = simulate(
        4, Overrides(minutes=1, groups=1, partitions=3, commits_per_minute=30_000, faults=False)
    )
    simulation.write(tmp_path)
    read = 0
    for number, served in simulation.cluster.partitions.items():
        require_equal(served.shard, replayed(tmp_path, number, Policy.STRICT), str(number))
        read += sum(1 for _ in log_entries(open_log_folder(tmp_path), number))
    assert read > 29_000
