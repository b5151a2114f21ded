"""Every table of a lake, and everything that others may do to it: one more command, and all tables equal a clean run.

    python -m workshop.endurance.faults [--writer spark] [--table gold.epochs ...] [--fault "file lost"] [--folder DIR]
    python -m workshop.endurance.faults --together

With `--together` all tables on which a run builds have a fault at once, each another one; after as many trials as there
are faults each table has had each, in a tenth of the time. The run must report each fault.

A run finds the table as the fault has left it. It mends it by itself, or it ends with a sentence that names a command,
and that command mends it. Exit code 4 when a run that ended well has left other rows than one clean run, or when a run
ended otherwise than with such a sentence.
"""

import argparse
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from rebalance_audit.cli.exit_codes import CHECK_FAILED, DONE
from rebalance_audit.errors import LakeError
from rebalance_audit.lake.runs.progress import BUILT_ON
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.storage.table_place import KINDS, LakeOptions, WriterKind
from rebalance_audit.tables.schemas import TableName
from tests.spark.faults import SEEN_IN_FILES, SEEN_IN_LOG, Fault
from tests.spark.lakes import TABLES, Whole, difference, empty_lake, request_of
from tests.spark.mixed_log import write_log
from tests.support.spark_sessions import spark_session

FAULTS: Final = {**SEEN_IN_LOG, **SEEN_IN_FILES}
OF_META: Final = (TableName.RUNS, TableName.PROGRESS, TableName.INGESTED, TableName.SNAPSHOTS)
ALL_TABLES: Final = (*TABLES, *OF_META)
SHARES: Final = (0.4, 0.7)
"""How much of the log the runs before the fault find."""
MENDED: Final = "mended by the next run"
NAMED: Final = "named, mended by --full"
RESTORED: Final = "named, mended by a copy"
FULL: Final = re.compile(r"run with --full")
A_COPY: Final = re.compile(r"restore it from a backup")
COMMANDS_MAX: Final = 4
"""How many runs a lake may take until one ends well."""
UNSEEN: Final = "vacuumed"
"""The rows are the same, so there is nothing to report."""


class Trial(NamedTuple):
    """One fault in one table, and what became of it."""

    table: str
    fault: str
    end: str
    notes: tuple[str, ...]
    """Notes of the run that mended it, or the sentence of the one that did not."""
    wrong: tuple[str, ...]
    """Tables that differ from those of the clean run at the end."""

    @property
    def is_right(self) -> bool:
        """Whether the fault ended as it may."""
        return self.end in {MENDED, NAMED, RESTORED} and not self.wrong


class Trials:
    """A lake after two runs over growing parts of a log, and the lake of one run over all of it."""

    def __init__(self, spark: SparkSession, folder: Path, writer: WriterKind) -> None:
        self._spark = spark
        self._folder = folder
        log, lake = write_log(folder / "log"), folder / "clean"
        request = request_of(f"segments:{log}", lake, options=LakeOptions(writer=writer))
        self._whole = Whole(log, lake, run_audit(spark, request))
        self._earlier = empty_lake(folder / "earlier", lake)
        for share in SHARES:
            part = write_log(folder / "part", share)
            run_audit(spark, request_of(f"segments:{part}", self._earlier))

    def tried(self, table: str, name: str, fault: Fault) -> Trial | None:
        """One trial; None where the fault cannot be done to this table."""
        lake = shutil.copytree(self._earlier, self._folder / "tried")
        try:
            place = lake.joinpath(*table.split("."))
            if not _is_possible(place, name):
                return None
            fault(self._spark, place)
            end, notes = self._run(lake)
            wrong = tuple(each for each in TABLES if difference(each, lake, self._whole.lake))
            return Trial(table, name, end, notes, wrong)
        finally:
            shutil.rmtree(lake)

    def tried_together(self, first: int) -> Iterator[Trial]:
        """One trial: each table has the fault after that of the table before it, the first one fault number `first`."""
        lake = shutil.copytree(self._earlier, self._folder / "tried")
        names = [*FAULTS]
        done: dict[str, str] = {}
        try:
            for number, table in enumerate(BUILT_ON):
                place = lake.joinpath(*table.split("."))
                name = names[(first + number) % len(names)]
                if _is_possible(place, name):
                    FAULTS[name](self._spark, place)
                    done[table] = name
            end, notes = self._run(lake)
            wrong = {each for each in TABLES if difference(each, lake, self._whole.lake)}
        finally:
            shutil.rmtree(lake)
        for table, name in done.items():
            of_table = tuple(sentence for sentence in notes if f"{table} " in sentence)
            is_reported = of_table or name == UNSEEN
            yield Trial(
                table,
                name,
                end if is_reported else "not reported",
                of_table,
                (table,) * (table in wrong),
            )
        for table in wrong - done.keys():
            yield Trial(table, "nothing", end, (), (table,))

    def _run(self, lake: Path) -> tuple[str, tuple[str, ...]]:
        """Run, and do what the sentences say until a run ends well; how it ended, and its notes and errors."""
        end, full, notes = MENDED, False, list[str]()
        for _ in range(COMMANDS_MAX):
            request = request_of(f"segments:{self._whole.log}", lake, full=full)
            try:
                return end, (*notes, *run_audit(self._spark, request).notes)
            except LakeError as error:
                notes.append(str(error))
            if FULL.search(notes[-1]):
                end, full = NAMED, True
            elif A_COPY.search(notes[-1]):
                bronze = lake / "bronze" / "records"
                shutil.rmtree(bronze)
                shutil.copytree(self._earlier / "bronze" / "records", bronze)
                end = RESTORED
            else:
                break
        return "ended without a command that mends it", tuple(notes)


def _is_possible(place: Path, fault: str) -> bool:
    commits = len(list((place / "_delta_log").glob("*.json")))
    if fault in {"restored", "log truncated"}:
        return commits > 1
    if fault in SEEN_IN_FILES:
        return any(place.glob("*.parquet"))
    return commits > 0


def main(arguments: list[str] | None = None) -> int:
    """Try all, print each."""
    parser = argparse.ArgumentParser(
        prog="workshop.endurance.faults", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument("--table", nargs="+", default=ALL_TABLES, choices=ALL_TABLES)
    parser.add_argument("--fault", nargs="+", default=list(FAULTS), choices=list(FAULTS))
    parser.add_argument("--writer", default=KINDS[0], choices=KINDS)
    parser.add_argument("--together", action="store_true", help="all tables at once")
    parser.add_argument("--folder", type=Path, help="keep the lakes here")
    asked = parser.parse_args(arguments)
    console = Console(width=120, highlight=False, markup=False)
    trials: list[Trial] = []
    with _folder(asked.folder) as folder, spark_session() as spark:
        lakes = Trials(spark, folder, asked.writer)
        for trial in _together(lakes) if asked.together else _one_by_one(lakes, asked):
            trials.append(trial)
            wrong = f"; WRONG: {', '.join(trial.wrong)}" if trial.wrong else ""
            console.print(f"{trial.table} {trial.fault}: {trial.end}{wrong}")
            for sentence in trial.notes:
                console.print(f"    {sentence}")
    summary = Table("", *asked.fault)
    for table in asked.table:
        ends = {trial.fault: trial for trial in trials if trial.table == table}
        summary.add_row(table, *[_shown(ends.get(name)) for name in asked.fault])
    console.print(summary)
    console.print(f"{len(trials)} trials: {dict(Counter(trial.end for trial in trials))}")
    return DONE if all(trial.is_right for trial in trials) else CHECK_FAILED


def _together(lakes: Trials) -> Iterator[Trial]:
    for first in range(len(FAULTS)):
        yield from lakes.tried_together(first)


def _one_by_one(lakes: Trials, asked: argparse.Namespace) -> Iterator[Trial]:
    for table in asked.table:
        for name in asked.fault:
            trial = lakes.tried(table, name, FAULTS[name])
            if trial is not None:
                yield trial


def _shown(trial: Trial | None) -> str:
    if trial is None:
        return "-"
    return trial.end if trial.is_right else f"WRONG ({trial.end})"


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(parents=True)
        yield given.absolute()
        return
    with TemporaryDirectory() as scratch:
        yield Path(scratch)


if __name__ == "__main__":
    sys.exit(main())
