"""What Kafka's own classes answered (tests/golden/assignors)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "assignors"


def questions(file: str, kind: str) -> list[dict[str, Any]]:
    """The questions of one kind, each with its answer."""
    lines = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [question for question in found if question["kind"] == kind]


def topic_partitions(pairs: Iterable[Iterable[Any]]) -> tuple[tuple[str, int], ...]:
    """JSON pairs as topic partitions."""
    return tuple((str(topic), int(number)) for topic, number in pairs)
