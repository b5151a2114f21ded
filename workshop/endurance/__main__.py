"""A broker under load, ingests and runs that are killed at random, and a lake that must come out as if nothing was.

    python -m workshop.endurance [--minutes 10] [--seed 1] [--folder DIR]

Exit code 4 when a table differs from that of one clean run, a record is lost or doubled, a protocol has no epoch, or a
process ended otherwise than done; with a sentence as its last line it may end with code 3 while the broker was away,
and with code 1 when its Java or its Python workers were killed.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from confluent_kafka.cimpl import NewTopic
from rich.console import Console
from rich.table import Table

from rebalance_audit.cli.exit_codes import CHECK_FAILED, DONE
from tests.spark.lakes import CLUSTER
from tests.support.broker import Broker, running_broker
from tests.support.live_groups import HASTE, PROTOCOLS
from tests.support.spark_sessions import spark_session
from workshop.endurance.clients import SESSION_TIMEOUT_MS, TOPICS
from workshop.endurance.programs import Ended, Repeated
from workshop.endurance.verdict import differences, epochs_of_protocols

CLIENTS: Final = 3
"""Processes with members of groups."""
CLIENT_LIFE_SECONDS: Final = (5, 60)
REPORT_EVERY_SECONDS: Final = 15
BROKER_LIFE_SECONDS: Final = (60, 180)
BROKER_AWAY_SECONDS: Final = (0, 20)
BROKER_SETTINGS: Final = {
    **HASTE,
    "group.consumer.min.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "log.segment.bytes": str(1 << 20),
}
CONFIG: Final = """\
[source.kafka]
trigger_seconds = 2
timeout_ms = 8000
[spark.settings]
"spark.driver.memory" = "1g"
"spark.sql.shuffle.partitions" = "2"
"spark.default.parallelism" = "2"
"""


class Endurance:
    """One such time."""

    def __init__(self, broker: Broker, folder: Path, seed: int) -> None:
        self._broker = broker
        self._folder = folder
        self._seed = seed
        self._over = threading.Event()
        self._outages = 0
        self._client_kills = 0
        self._failures: list[BaseException] = []
        self.lake = folder / "lake"
        self.ingests = self._repeated("ingest", self._ingest_arguments)
        self.runs = self._repeated("run", self._run_arguments)

    @property
    def broker_kills(self) -> int:
        """How often the broker was killed."""
        return self._outages // 2

    @property
    def client_kills(self) -> int:
        """How often a process of clients was killed."""
        return self._client_kills

    def endure(self, seconds: float) -> None:
        """Let everything happen at once, for so long; then all is quiet, and the broker is there."""
        tasks = [
            self.ingests.go_on,
            self._run_on,
            self._kill_the_broker,
            *[partial(self._keep_clients, f"client-{number}") for number in range(CLIENTS)],
        ]
        threads = [threading.Thread(target=self._guarded, args=(task,)) for task in tasks]
        for thread in threads:
            thread.start()
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at and not self._failures:
            self._report()
            time.sleep(REPORT_EVERY_SECONDS)
        self._over.set()
        for thread in threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def finish(self) -> list[Ended]:
        """One last ingest, one last run, a look at all checks, and the same log once more into a clean lake."""
        checked = ["--lake", str(self.lake), "--cluster", CLUSTER]
        return [
            self.ingests.once("last"),
            self.runs.once("last"),
            self._repeated("run", lambda _: self._into_clean()).once("clean"),
            self._repeated("check", lambda _: checked).once("last"),
        ]

    @property
    def clean(self) -> Path:
        """The lake that one run makes."""
        return self._folder / "clean"

    # -- what happens ---------------------------------------------------------------------------

    def _guarded(self, task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            self._failures.append(error)

    def _run_on(self) -> None:
        """Runs, from the first records on: without any a run has nothing to do and says so."""
        first = self.lake / "bronze" / "records" / "_delta_log" / f"{1:020}.json"
        while not first.exists():
            if self._over.wait(1):
                return
        self.runs.go_on()

    def _kill_the_broker(self) -> None:
        random = self._random("broker")
        while not self._over.wait(random.uniform(*BROKER_LIFE_SECONDS)):
            self._outages += 1
            self._broker.kill()
            self._over.wait(random.uniform(*BROKER_AWAY_SECONDS))
            self._broker.start()
            self._outages += 1

    def _keep_clients(self, name: str) -> None:
        random = self._random(name)
        command = [sys.executable, "-m", "workshop.endurance.clients"]
        command += [self._broker.bootstrap_servers, name]
        with (self._folder / f"{name}.txt").open("ab") as output:
            while not self._over.is_set():
                # librdkafka writes each lost connection.
                process = subprocess.Popen(
                    [*command, str(random.random())], stderr=output, stdout=output
                )
                self._over.wait(random.uniform(*CLIENT_LIFE_SECONDS))
                if process.poll() is not None:
                    raise AssertionError(f"{name} has ended by itself: see {output.name}")
                process.kill()
                process.wait()
                self._client_kills += 1
                self._over.wait(random.uniform(0, 2 * SESSION_TIMEOUT_MS / 1000))

    # -- commands -------------------------------------------------------------------------------

    def _ingest_arguments(self, random: Random) -> Sequence[str]:
        follow = ["--follow", "--stop-after", str(random.randint(20, 60))]
        is_last = self._over.is_set()
        source = f"kafka:{self._broker.bootstrap_servers}"
        more = follow if not is_last and random.random() < 0.5 else []
        return ["--source", source, *self._into(self.lake), *more]

    def _run_arguments(self, _: Random) -> Sequence[str]:
        return self._into(self.lake)

    def _into_clean(self) -> Sequence[str]:
        return ["--source", f"delta:{self.lake / 'bronze' / 'records'}", *self._into(self.clean)]

    def _into(self, lake: Path) -> list[str]:
        config = self._folder / "own.toml"
        config.write_text(CONFIG)
        return ["--lake", str(lake), "--cluster", CLUSTER, "--config", str(config)]

    def _repeated(self, command: str, arguments: Callable[[Random], Sequence[str]]) -> Repeated:
        return Repeated(
            command,
            arguments,
            self._random(command),
            self._folder,
            lambda: self._outages,
            self._over,
        )

    def _random(self, name: str) -> Random:
        return Random(f"{self._seed} {name}")

    def _report(self) -> None:
        words = [f"{len(each.ends)} {each.command}s" for each in (self.ingests, self.runs)]
        sys.stderr.write(f"{', '.join(words)}, broker killed {self.broker_kills} times …\n")


def main(arguments: list[str] | None = None) -> int:
    """Endure, compare, print."""
    parser = argparse.ArgumentParser(
        prog="workshop.endurance", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="keep everything here")
    asked = parser.parse_args(arguments)
    console = Console(width=120)
    with (
        _folder(asked.folder) as folder,
        running_broker(folder / "broker", settings=BROKER_SETTINGS) as broker,
    ):
        _make_topics(broker)
        endurance = Endurance(broker, folder, asked.seed)
        endurance.endure(asked.minutes * 60)
        last = endurance.finish()
        return _report(console, endurance, last, broker, asked.minutes)


def _make_topics(broker: Broker) -> None:
    admin = broker.admin()
    wanted = [NewTopic(name, count, 1) for name, count in TOPICS.items()]
    for made in admin.create_topics(wanted).values():
        made.result()


def _report(
    console: Console, endurance: Endurance, last: Sequence[Ended], broker: Broker, minutes: float
) -> int:
    ends = [*endurance.ingests.ends, *endurance.runs.ends]
    for each in ends:
        console.print(
            f"{each.name} {each.seconds:5.1f} s, killed {each.killed}, code {each.code}:"
            f" {each.last_line}",
            highlight=False,
            markup=False,
        )
    foul = [each for each in ends if each.is_foul] + [each for each in last if each.code != DONE]
    for each in foul:
        console.print(f"[red]ended otherwise than it may:[/] {each}")
    table = Table("", "rows", "lost", "too many", title=f"{minutes:g} minutes")
    is_equal = is_whole = True
    if last[0].code == last[1].code == last[2].code == DONE:
        with spark_session() as spark:
            data = broker.folder / "data"
            for name, rows, extra, missing, examples in differences(
                spark, data, endurance.lake, endurance.clean
            ):
                table.add_row(name, f"{rows:,}", str(missing), str(extra))
                is_equal = is_equal and not examples
                for example in examples:
                    console.print(f"{name}: {example}", markup=False, highlight=False)
            epochs = epochs_of_protocols(spark, endurance.lake)
            console.print(f"epochs: {epochs}")
            is_whole = all(epochs.get(protocol) for protocol in PROTOCOLS)
    console.print(table)
    for command in ("ingest", "run"):
        mine = [each for each in ends if each.name.startswith(command)]
        kills = Counter(each.killed for each in mine if each.killed)
        done = sum(each.code == DONE for each in mine)
        console.print(
            f"{command}: {len(mine)} started, {done} done, {sum(kills.values())} killed ({dict(kills)})"
        )
    console.print(
        f"broker killed {endurance.broker_kills} times, clients {endurance.client_kills} times; seed {endurance._seed}"
    )
    return DONE if is_equal and is_whole and not foul else CHECK_FAILED


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(parents=True)
        yield given.absolute()
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(scratch)


if __name__ == "__main__":
    sys.exit(main())
