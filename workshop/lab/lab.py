"""All stories on one broker of a release, at the same time. They leave its records, its log lines, and the truth."""

import gzip
import json
import shutil
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from rebalance_audit.resources import checkout_root
from tests.support.broker import running_broker
from workshop.lab.play import played
from workshop.lab.stories import STORIES
from workshop.lab.story import Story, is_later
from workshop.lab.world import Admin, World

PINNED: Final = "4.3"
"""The release whose jars `make jars-broker` fetches."""

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    # The members of a story that is over say nothing more.
    "group.consumer.session.timeout.ms": "600000",
    "group.consumer.max.session.timeout.ms": "600000",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.share.session.timeout.ms": "600000",
    "group.share.max.session.timeout.ms": "600000",
    "group.share.min.session.timeout.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    # Otherwise it depends on the time whether partitions are initialised before or after the target is computed.
    "group.share.assignment.interval.ms": "0",
    "group.streams.session.timeout.ms": "600000",
    "group.streams.max.session.timeout.ms": "600000",
    "group.streams.min.session.timeout.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.initial.rebalance.delay.ms": "0",
}
EARLY_ACCESS: Final = {
    "4.1": {
        "group.coordinator.rebalance.protocols": "classic,consumer,share,streams",
        "unstable.feature.versions.enable": "true",
        "unstable.api.versions.enable": "true",
    }
}
"""What a release needs for the protocols that it does not enable itself."""
FEATURES: Final = {"4.1": ("share.version=1", "streams.version=1")}

LEVELS: Final = {"4.2": "DEBUG"}
"""Release -> the level of the coordinator's log, where it is not INFO: one says everything that it can say."""
LOGGING: Final = """\
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = CONSOLE
logger.group.name = org.apache.kafka.coordinator.group
logger.group.level = {level}
appender.console.type = Console
appender.console.name = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
"""
MARKS: Final = ("[GroupCoordinator ", "[GroupMetadataManager ")


def jars_of(release: str) -> Path:
    """The folder of a release's jars."""
    return checkout_root() / "jars" / ("broker" if release == PINNED else f"broker-{release}")


def stories_of(release: str, stories: Iterable[Story] = STORIES) -> Sequence[Story]:
    """The stories that the release can play."""
    return [story for story in stories if not is_later(story.since, release)]


def run_lab(folder: Path, release: str, into: Path, stories: Sequence[Story] = STORIES) -> None:
    """Play the stories and write `segments/`, `server.log.gz` and `truth.jsonl` into a folder."""
    settings = {**SETTINGS, **EARLY_ACCESS.get(release, {})}
    jars = jars_of(release)
    chosen = stories_of(release, stories)
    failures: list[Exception] = []
    with running_broker(
        folder,
        settings=settings,
        jars=jars,
        features=FEATURES.get(release, ()),
        logging=LOGGING.format(level=LEVELS.get(release, "INFO")),
    ) as broker:
        world = World(broker.port, jars, release)
        world.restarts.begin(len(chosen))
        topics = {name: count for story in chosen for name, count in story.topics().items()}
        with closing(world.connect("lab")) as connection:
            admin = Admin(world, connection)
            admin.await_coordinator()
            admin.create_topics(topics)

        def play(story: Story) -> list[dict[str, Any]]:
            try:
                return played(story, world)
            except Exception as problem:  # noqa: BLE001 - raised again below
                failures.append(problem)
                return []
            finally:
                world.restarts.over()

        def restart() -> None:
            broker.restart()
            with closing(world.connect("lab")) as connection:
                Admin(world, connection).await_published(world.partition_counts)

        with ThreadPoolExecutor(len(chosen)) as pool:
            rows = [pool.submit(play, story) for story in chosen]
            world.restarts.serve(restart)
        broker.stop()
    _keep(folder, into, [row for each in rows for row in each.result()])
    if failures:
        raise ExceptionGroup(f"stories that went otherwise in {release}", failures)


def _keep(folder: Path, into: Path, rows: list[dict[str, Any]]) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for name in ("__cluster_metadata-0", *(f"__consumer_offsets-{number}" for number in range(4))):
        for segment in (folder / "data" / name).glob("*.log"):
            target = into / "segments" / name / segment.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(segment, target)
    with (folder / "broker.log").open(encoding="utf-8") as lines:
        said = [line for line in lines if any(mark in line for mark in MARKS)]
    with gzip.GzipFile(into / "server.log.gz", "wb", mtime=0) as kept:
        kept.write("".join(said).encode())
    lines_of_truth = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    (into / "truth.jsonl").write_text("".join(lines_of_truth), "utf-8")
