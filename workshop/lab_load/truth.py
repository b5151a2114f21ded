"""The truth of one release and coordinator: what its broker did with every case."""

import hashlib
import json
import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from rebalance_audit.resources import checkout_root
from workshop.lab.connection import Connection
from workshop.lab.lab import jars_of
from workshop.lab_load.cases.case import CaseSet
from workshop.lab_load.lab import Lab, NotStartedError, Segment, loaded, prepared
from workshop.lab_load.view import VERSIONS, ask_about, shown
from workshop.lab_load.words import fatal_words, read_words

Row = dict[str, Any]
GOLDEN: Final = checkout_root() / "tests" / "golden" / "loads"
SILENT: Final[Row] = {"loaded": None}


def truth_path(release: str, coordinator: str) -> Path:
    """Where the truth of a coordinator is kept."""
    return GOLDEN / f"{release}-{coordinator}.json"


def observed(release: str, coordinator: str, folder: Path, cases: CaseSet) -> Row:
    """Start brokers on all cases, and write down what they say."""
    shutil.rmtree(folder, ignore_errors=True)
    bench = Bench(prepared(release, coordinator, folder, cases.partition_count), cases)
    segments = {each: Segment(cases.segment_of(each)) for each in range(len(cases.cases))}
    damaged = {each: segments[each] for each in segments if cases.cases[each].damages_file}
    found = bench.starts("clean", segments, clean=True)
    # A longer log has an index, from whose last entry a broker looks for the end of the log.
    indexed = {
        each: Segment(segments[each].data, struct.pack(">ii", *cases.end_of(each)))
        for each, row in found.items()
        if row.get("broker")
    }
    of_indexed = bench.starts("indexed", indexed, clean=True)
    of_recovered = bench.starts("recovered", damaged, clean=False)
    rows: dict[str, Row] = {}
    for number, case in enumerate(cases.cases):
        digest = hashlib.sha256(segments[number].data).hexdigest()[:16]
        row = rows[case.case_id] = {"partition": number, "sha256": digest, **found[number]}
        if number in of_indexed:
            row["indexed"] = of_indexed[number]
        if number in of_recovered:
            row["recovered"] = of_recovered[number]
    return {
        "release": _full_release(release),
        "coordinator": coordinator,
        "partition_count": cases.partition_count,
        "cases": rows,
    }


class Bench(NamedTuple):
    """A lab, and the cases that are placed in it."""

    lab: Lab
    cases: CaseSet

    def starts(self, name: str, segments: Mapping[int, Segment], *, clean: bool) -> dict[int, Row]:
        """What is said of each log; those that keep a broker from starting are taken away until it starts."""
        left = dict(segments)
        rows: dict[int, Row] = {}
        while left:
            try:
                return rows | self._one_start(f"{name}-{len(rows)}", left, clean=clean)
            except NotStartedError as problem:
                if not problem.log_partitions:
                    raise
                for number in problem.log_partitions:
                    del left[number]
                    rows[number] = {
                        "loaded": False,
                        "broker": "does not start",
                        "exception": fatal_words(problem.lines),
                    }
        return rows

    def _one_start(
        self, name: str, segments: Mapping[int, Segment], *, clean: bool
    ) -> dict[int, Row]:
        with loaded(self.lab, name, segments, clean=clean) as (broker, lines):
            names = {number: self.cases.groups_of(number) for number in segments}
            asked = [each for group_ids in names.values() for each in group_ids]
            with closing(Connection(broker.port, broker.jars, "lab-load", VERSIONS)) as connection:
                said = ask_about(connection, broker.jars, asked)
            words = read_words(lines)
        return {
            number: _joined(words.get(number, SILENT), names[number], said) for number in segments
        }


def _full_release(release: str) -> str:
    (clients,) = jars_of(release).glob("kafka-clients-*.jar")
    return clients.stem.rpartition("-")[2]


def _joined(words: Row, names: list[str], said: Mapping[str, Row]) -> Row:
    kept = {
        key: value for key, value in words.items() if value not in (None, [], {}) or key == "loaded"
    }
    groups = {
        shown(each): {field: value for field, value in said[each].items() if value is not None}
        for each in names
        if each in said
    }
    errors = {group["error"] for group in groups.values() if "error" in group}
    if groups and len(errors) == 1 and all(group.get("error") for group in groups.values()):
        return {**kept, "answer": errors.pop()}
    return {**kept, "groups": groups}


def write_truth(truth: Row, path: Path) -> None:
    """One line for each case."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(_lines(truth)), "utf-8")


def _lines(truth: Row) -> Iterator[str]:
    head = {name: value for name, value in truth.items() if name != "cases"}
    yield json.dumps(head)[:-1] + ', "cases": {\n'
    rows = [
        f"{json.dumps(case_id)}: {json.dumps(row, ensure_ascii=False, separators=(',', ':'))}"
        for case_id, row in truth["cases"].items()
    ]
    yield ",\n".join(rows)
    yield "\n}}\n"


def read_truth(path: Path) -> Row:
    """The truth of one coordinator."""
    read: Row = json.loads(path.read_text("utf-8"))
    return read
