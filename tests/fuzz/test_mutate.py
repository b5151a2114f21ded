import pytest

from tests.fuzz.mutate import fuzz_logs, fuzz_records, fuzz_segments

pytestmark = pytest.mark.swarm


@pytest.mark.parametrize("seed", range(4))
def test_mutated_records(seed: int) -> None:
    """Real records with damage decode or say why, and none is lost: read = decoded + quarantined."""
    tally = fuzz_records(seed, 5000)
    outcomes = {outcome.split(":")[0] for outcome in tally}
    assert outcomes == {"decoded", "quarantined"}
    assert tally.total() == 5000


@pytest.mark.parametrize("seed", range(4))
def test_damaged_segments(seed: int) -> None:
    """Damaged segments are read to their end in batches, columns and parts alike, and every record counts."""
    tally = fuzz_segments(seed, 40)
    assert tally["records read"] == tally["decoded"] + tally["quarantined"] > 0
    assert {"segments: crc_mismatch", "segments: bad_records"} <= tally.keys()


@pytest.mark.parametrize("seed", range(2))
def test_damaged_logs(seed: int) -> None:
    """A log with damaged, lost and misplaced records is replayed, audited and described without an exception."""
    tally = fuzz_logs(seed, 10)
    assert tally["logs"] == 10
    assert tally["records read"] == tally["decoded"] + tally["quarantined"] > 0
    assert tally["rows"] > 0
