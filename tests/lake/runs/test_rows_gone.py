"""Words of Spark and of Java for staged rows that are gone, whoever looks for them."""

import pytest

from rebalance_audit.lake.runs.error_translation import STAGED_ROWS_GONE

PLACE = "/data/lake/meta/.stage/20261129T134755Z-615570a5/0016"


@pytest.mark.parametrize(
    "trace",
    [
        f"[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:{PLACE}/part-0.parquet.",
        f"Caused by: java.io.FileNotFoundException: File {PLACE} does not exist",
        f"calling o28630.parquet.\n: java.nio.file.NoSuchFileException: {PLACE}\n\tat java.base/sun.nio.fs",
        f"[PATH_NOT_FOUND] Path does not exist: file:{PLACE}.",
    ],
    ids=["read", "listed", "written", "opened"],
)
def test_the_place_is_known(trace: str) -> None:
    """It goes into the sentence that says what the next run does."""
    found = STAGED_ROWS_GONE.search(trace)
    assert found is not None
    assert found[1].removeprefix("file:") == PLACE
