"""Times of epochs against the truth."""

from typing import Any

from tests.accuracy.tally import Measure, Tally

Row = dict[str, Any]


def judge_times(tally: Tally, source: str, epoch: Row, truth: Row, about: str) -> None:
    """Compare the times of one epoch that is all there; classic bounds must hold the truth between them."""
    if epoch["completeness"] != "complete":
        return
    protocol = epoch["protocol"]
    for name in ("started_at", "target_installed_at", "converged_at"):
        tally.compare(Measure(source, protocol, name), epoch[name], truth[name], about)
    if protocol != "classic":
        return
    if epoch["sync_ms"] is not None and truth["converged_at"] is not None:
        sync_ms = truth["converged_at"] - truth["started_at"]
        tally.compare(Measure(source, protocol, "sync_ms"), epoch["sync_ms"], sync_ms, about)
    began_ms = truth["join_started_at"]
    earliest_ms, latest_ms = epoch["join_started_earliest"], epoch["join_started_latest"]
    if began_ms is None:
        tally.count("bounds", source, "no join phase")
    elif earliest_ms is None or latest_ms is None:
        tally.count("bounds", source, "not given")
    elif earliest_ms <= began_ms <= latest_ms:
        tally.count("bounds", source, "hold the truth")
        tally.count("bounds", source, "width_ms", times=latest_ms - earliest_ms)
    else:
        tally.count("bounds", source, "miss the truth")
        tally.example("bounds", f"{about}: {earliest_ms} to {latest_ms} for {began_ms}")
