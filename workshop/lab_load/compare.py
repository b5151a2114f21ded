"""The predictions of `rebalance_audit.verify` held against what brokers did."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rebalance_audit.verify.coordinators import Coordinator
from rebalance_audit.verify.loading import Loading
from rebalance_audit.verify.partition_load import verify_folder
from rebalance_audit.wire.segments.folder import open_log_folder
from workshop.lab_load.cases.case import CaseSet

Row = dict[str, Any]


class Difference(NamedTuple):
    """A case that is predicted wrong, or left open."""

    case_id: str
    about: str
    is_open: bool
    """Whether the prediction says that it does not know."""
    predicted: str
    observed: str

    def __str__(self) -> str:
        where = f"{self.case_id} ({self.about})"
        return f"{where}: predicted {self.predicted}; the broker {self.observed}"


@contextmanager
def all_logs(cases: CaseSet) -> Iterator[Path]:
    """A folder of segments with the logs of all cases."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for number in range(len(cases.cases)):
            segment = folder / f"__consumer_offsets-{number}" / f"{0:020}.log"
            segment.parent.mkdir()
            segment.write_bytes(cases.segment_of(number))
        yield folder


def predictions(folder: Path, coordinator: Coordinator) -> dict[int, Loading]:
    """Partition -> what the coordinator is predicted to do with it."""
    judged = verify_folder(open_log_folder(folder), coordinator)
    return {each.log_partition: each for each in judged.partitions}


def differences(truth: Row, cases: CaseSet, folder: Path) -> Iterator[Difference]:
    """Where the predictions for a coordinator differ from its truth."""
    release = truth["release"].rpartition(".")[0]
    predicted = predictions(folder, Coordinator(release, truth["coordinator"]))
    for number, case in enumerate(cases.cases):
        loading, row = predicted.get(number), truth["cases"][case.case_id]
        if not _agree(loading, row):
            is_open = loading is not None and loading.outcome == "unknown"
            said, seen = _predicted(loading), _observed(row)
            yield Difference(case.case_id, case.about, is_open, said, seen)


def skipped_count(row: Row) -> int:
    """Records that the broker says it skipped."""
    return sum(row.get("skipped", {}).values())


def _agree(loading: Loading | None, row: Row) -> bool:
    """An offset that the broker does not name is not compared, nor a log that the prediction leaves open."""
    if loading is None:
        return row.get("records") == 0
    if loading.outcome != ("loads" if row["loaded"] else "fails"):
        return False
    if row["loaded"]:
        return loading.skipped_count == skipped_count(row)
    offset = row.get("failed_at_offset")
    return offset in {None, loading.failed_at_offset}


def _predicted(loading: Loading | None) -> str:
    if loading is None:
        return "nothing"
    if loading.outcome == "fails":
        return f"fails at offset {loading.failed_at_offset} ({loading.rule})"
    return f"{loading.outcome}, {loading.skipped_count} skipped"


def _observed(row: Row) -> str:
    if row["loaded"]:
        return f"loads, {skipped_count(row)} skipped"
    if row["loaded"] is None:
        return "says nothing"
    return f"fails at offset {row.get('failed_at_offset')}: {row.get('exception')}"
