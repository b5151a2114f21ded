"""The log that `rebalance-audit demo` audits: two minutes of a real cluster, bundled with the package.

A Kafka 4.3.1 broker with ten groups of both protocols (eager, cooperative, static, consumer, consumer static) whose
Java and librdkafka clients were started, closed, killed, frozen and reconfigured at random: about 2000 records in five
partitions, and the metadata log for topic names. The segments are as the broker left them.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final
from zipfile import ZipFile

ARCHIVE: Final = "demo_log.zip"


def extract_to(path: str | Path) -> Path:
    """Unpack the log into a folder, created if it is missing; returns the folder, as `open_log_folder` takes it."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    with files(__package__).joinpath(ARCHIVE).open("rb") as archive, ZipFile(archive) as log:
        log.extractall(folder)
    return folder
