"""What a table's log says of its files, beside the rows that these have."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from rebalance_audit.lake.storage.file_statistics import may_have

FILES: dict[str, tuple[list[list[str | None]], bool]] = {
    "none": ([["none", "none"], ["unknown", None]], False),
    "one of a file": ([["none"], ["none", "open", "unknown"]], True),
    "between two": ([["committed", "unknown"]], True),
    "no rows": ([], False),
    "nulls alone": ([[None]], True),
}
"""What is -> the texts of each file, and whether one of them may be `open`: nothing bounds a file of nulls."""


@pytest.mark.parametrize("case", FILES)
def test_statistics_tell_whether_a_text_may_be_there(case: str, tmp_path: Path) -> None:
    """Only by the least and the greatest text of each file."""
    files, expected = FILES[case]
    for texts in files or [[]]:
        rows = pa.table({"state": pa.array(texts, pa.string())})
        write_deltalake(tmp_path, rows, mode="append")
    assert may_have(str(tmp_path), "state", "open") is expected


def test_nothing_is_known_without_statistics(tmp_path: Path) -> None:
    """Of a table that keeps none, and of a folder that is no table."""
    rows = pa.table({"state": pa.array(["none"])})
    no_statistics = {"delta.dataSkippingNumIndexedCols": "0"}
    write_deltalake(tmp_path / "table", rows, configuration=no_statistics)
    assert may_have(str(tmp_path / "table"), "state", "open")
    assert may_have(str(tmp_path / "none"), "state", "open")
