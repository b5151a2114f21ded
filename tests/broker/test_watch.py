"""`watch` beside a real broker with groups at work: what it says of each rebalance, how soon, and when it is killed."""

import json
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

import pytest
from confluent_kafka import Consumer

from rebalance_audit.audit.lag.rebalance_cost import COST_COLUMNS
from rebalance_audit.live_cluster.kafka_cluster import KafkaCluster, KafkaSettings
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.tables.schemas import table_schemas
from tests.cli.call import PROGRAM
from tests.support.broker import Broker, running_broker
from tests.support.broker_cluster import leaders_of, running_cluster
from tests.support.live_groups import HASTE, TOPIC, TOPIC_PARTITIONS, make_topic, work
from tests.support.secured_broker import OF_THE_LOG, USER, made_certificate, secured_broker

pytestmark = pytest.mark.broker

PASSWORD: Final = "Tr0mb0ne-Pr4gm4tic"  # noqa: S105 - of a broker that lives for a test
PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SOON_S: Final = 30.0
"""Within two seconds on an idle machine; what comes at the end of the watch comes later than this on a busy one too."""
PATIENCE_S: Final = 300

Rebalance = dict[str, Any]


class Watching:
    """A process that watches, and what it printed when."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[tuple[float, dict[str, Any]]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.time(), json.loads(line)))

    def reported(self) -> dict[tuple[Any, ...], Rebalance]:
        """The last thing said of each rebalance."""
        rows = [line["rebalance"] for _, line in self.lines if line["event"] == "rebalance"]
        return {key_of(row): without_cost(row) for row in rows}

    def end(self, how: signal.Signals) -> int:
        """Its exit code, once all that it printed has been read."""
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE_S)
        self._reader.join()
        return code


def test_watch_beside_a_broker(broker: Broker, tmp_path: Path) -> None:
    """It survives the broker's restart, is killed and started again, and says what the audit of the log says."""
    with watching(broker.bootstrap_servers) as first:
        until(lambda: bool(first.reported()))
        began = time.time()
        work(broker, "before", commits=2)
        # What the broker wrote last cannot be reported while it is away.
        until(lambda: first.reported().keys() >= ended(broker, tmp_path / "before").keys())
        broker.restart()
        work(broker, "after", commits=2)
        until(lambda: first.reported().keys() >= ended(broker, tmp_path / "one").keys())
        first.end(signal.SIGKILL)
        late = [at - end_s(line) for at, line in first.lines if end_s(line) > began]
        assert late
        assert max(late) < SOON_S
    with watching(broker.bootstrap_servers) as second:
        work(broker, "again", commits=2)
        truth = ended(broker, tmp_path / "two")
        until_reported(second, truth)
        assert second.end(signal.SIGINT) == 0
    assert second.reported() == truth
    assert first.reported().keys() <= truth.keys()
    assert second.lines[-1][1]["event"] == "end"


def test_an_outage_says_what_was_read_and_how_to_go_on(tmp_path: Path) -> None:
    """What was read before and up to when; the end of a watch that cannot read does not claim to be of now."""
    with running_broker(tmp_path / "broker", settings=HASTE) as broker:
        make_topic(broker)
        work(broker, "some", commits=2)
        truth = ended(broker, tmp_path / "copy")
        notes = tmp_path / "notes"
        with (
            notes.open("w") as err,
            watching(broker.bootstrap_servers, quiet=False, stderr=err) as watched,
        ):
            until_reported(watched, truth)
            broker.kill()
            until(lambda: "cannot be read any more" in notes.read_text())
            broker.start()
            until(lambda: "can be read again after" in notes.read_text())
            broker.kill()
            until(lambda: notes.read_text().count("cannot be read any more") == 2)
            assert watched.end(signal.SIGINT) == 0
        end = watched.lines[-1][1]
        lost = next(line for line in notes.read_text().splitlines() if "any more" in line)
        assert re.search(r"Read before: [1-9][\d,]* records, up to 20\S+ \S+ UTC", lost)
        assert max(end_s(line) for _, line in watched.lines[:-1]) < moment_s(end["unread_since"])
        (since,) = re.findall(r"the same command with --since (\S+)", notes.read_text())
        assert moment_s(since) <= moment_s(end["unread_since"])


def test_watch_beside_brokers_that_die_one_after_the_other(tmp_path: Path) -> None:
    """Leaders of partitions move, and dead brokers come back: nothing is lost, and nothing said twice."""
    with running_cluster(tmp_path, HASTE) as brokers:
        first = brokers[0]
        make_topic(first)
        work(first, "before", commits=2)
        with watching(",".join(broker.bootstrap_servers for broker in brokers)) as watched:
            until(lambda: bool(watched.reported()))
            for number, broker in enumerate(brokers[1:], 2):
                assert number in leaders_of(first).values()
                broker.kill()
                until(lambda: not {number, -1} & set(leaders_of(first).values()))  # noqa: B023 - called here
                work(first, f"without-{number}", commits=2)
                broker.start()
            truth = ended(first, tmp_path / "copy")
            until_reported(watched, truth)
            said = [key_of(line["rebalance"]) for _, line in watched.lines if "rebalance" in line]
            assert len(said) == len(truth) > 0
            assert watched.end(signal.SIGINT) == 0


def test_watch_with_certificates_and_a_password(tmp_path: Path) -> None:
    """TLS on both sides and SASL, by the options of Kafka's client or by kafka-python's; it needs no other rights."""
    store = made_certificate(tmp_path)
    with secured_broker(tmp_path / "broker", PASSWORD, OF_THE_LOG, store) as (broker, port):
        make_topic(broker)
        work(broker, "some", commits=2)
        truth = ended(broker, tmp_path / "copy")
        assert truth
        login = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f"{PLAIN} required username='{USER}' password='{PASSWORD}';",
        }
        stores = {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(tmp_path / "ca.pem"),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
        }
        files = {"ssl_cafile": str(tmp_path / "ca.pem"), "ssl_certfile": str(store)}
        for options, admin in (({**login, **stores}, {}), (login, files)):
            config = configured(tmp_path / "own.toml", options, admin)
            with watching(f"127.0.0.1:{port}", "--config", config) as watched:
                until_reported(watched, truth)
                assert watched.end(signal.SIGINT) == 0
        for wrong in (
            {**login, **stores, "sasl.jaas.config": login["sasl.jaas.config"].replace("-", "+")},
            {
                **login,
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(tmp_path / "ca.pem"),
            },
        ):
            config = configured(tmp_path / "own.toml", wrong, {})
            with watching(f"127.0.0.1:{port}", "--config", config) as watched:
                assert watched.process.wait(PATIENCE_S) == 3


def test_a_classic_join_phase_shows_while_it_lasts(tmp_path: Path) -> None:
    """Its coordinator says so to those who may describe the group; the log holds nothing of it until it ends."""
    with secured_broker(tmp_path / "broker", PASSWORD, OF_THE_LOG) as (broker, port):
        make_topic(broker)
        first, second = (
            Consumer({**broker.client_settings, "group.id": "halted", "group.protocol": "classic"})
            for _ in range(2)
        )
        errors = tmp_path / "notes"
        with (
            errors.open("w") as err,
            watching(broker.bootstrap_servers, "--metrics-port", "0", quiet=False, stderr=err),
        ):
            first.subscribe([TOPIC])
            until(lambda: first.poll(0.2) is None and len(first.assignment()) == TOPIC_PARTITIONS)
            until(lambda: "Metrics at" in errors.read_text())
            (address,) = re.findall(r"Metrics at (\S+)", errors.read_text())

            def state() -> list[str]:
                with urllib.request.urlopen(address) as answer:  # noqa: S310 - our own server
                    return re.findall(
                        r'group_state{.*group="halted".*state="(\w+)"', answer.read().decode()
                    )

            until(lambda: state() == ["Stable"])
            second.subscribe([TOPIC])
            # The first one's client sends heartbeats, but it does not join before it is polled.
            until(lambda: second.poll(0.2) is None and state() == ["PreparingRebalance"])
            assert KafkaCluster(broker.bootstrap_servers, KafkaSettings()).group_states() == {
                "halted": "PreparingRebalance"
            }
            login = {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f"{PLAIN} required username='{USER}' password='{PASSWORD}';",
            }
            without_rights = KafkaCluster(f"127.0.0.1:{port}", KafkaSettings(options=login))
            assert without_rights.group_states() == {}, "unknown, and not another state"
            until(lambda: (first.poll(0.2), second.poll(0.2), state())[2] == ["Stable"])
        first.close()
        second.close()


def configured(file: Path, options: dict[str, str], admin: dict[str, str]) -> Path:
    """A configuration of how to log in."""
    kafka = {"options": options, "admin": admin}
    lines = ["[source.kafka]", "timeout_ms = 5000"]
    for table, values in kafka.items():
        lines += [f"[source.kafka.{table}]"]
        lines += [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in values.items()]
    file.write_text("\n".join(lines))
    return file


@contextmanager
def watching(
    servers: str, *arguments: str | Path, quiet: bool = True, stderr: IO[str] | None = None
) -> Iterator[Watching]:
    """A process that reports every rebalance of the log."""
    source = f"kafka:{servers}"
    command = [*PROGRAM, "watch", source, "--since", "2020-01-01", "--json", *arguments]
    command += ["--quiet"] if quiet else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    watched = Watching(process)
    try:
        yield watched
    finally:
        if watched.process.poll() is None:
            watched.end(signal.SIGKILL)


def ended(broker: Broker, folder: Path) -> dict[tuple[Any, ...], Rebalance]:
    """What the audit of a copy of the log says of every rebalance that is over."""
    shutil.rmtree(folder, ignore_errors=True)
    for partition in (broker.folder / "data").glob("__consumer_offsets-*"):
        shutil.copytree(partition, folder / partition.name)
    rows = audit_segments(folder).table("gold.rebalances")
    shaped = [json.loads(json.dumps(row, default=iso)) for row in rows]
    return {key_of(row): without_cost(row) for row in shaped if row["outcome"] != "open"}


def without_cost(row: Rebalance) -> Rebalance:
    """A rebalance but for what it cost, which later commits show: it is not reported again for that."""
    return {name: value for name, value in row.items() if name not in COST_COLUMNS}


def iso(moment: datetime) -> str:
    """As JSON has it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def key_of(row: Rebalance) -> tuple[Any, ...]:
    """The key of gold.rebalances."""
    return tuple(row[column] for column in table_schemas()["gold.rebalances"].key)


def end_s(line: dict[str, Any]) -> float:
    """When the rebalance of a line was over, in seconds since 1970."""
    return moment_s(line["rebalance"]["ended_at"])


def moment_s(text: str) -> float:
    """Seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def until_reported(watched: Watching, truth: dict[tuple[Any, ...], Rebalance]) -> None:
    """Wait until these rebalances have been reported, and fail with the difference."""
    deadline = time.monotonic() + PATIENCE_S
    while watched.reported() != truth and time.monotonic() < deadline:
        time.sleep(0.2)
    assert watched.reported() == truth


def until(is_so: Callable[[], bool]) -> None:
    """Wait for it."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)
