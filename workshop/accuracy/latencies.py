"""Times of epochs against the truth."""

from typing import Any, Final

from workshop.accuracy.tally import Measure, Tally

Row = dict[str, Any]

LONG_MS: Final = 2000
"""Shorter classic rebalances are estimated well enough by any guess."""
NEAR_PERCENT: Final = 25
NEAR_MS: Final = 1000


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
    if began_ms is not None and truth["converged_at"] is not None:
        judge_estimate(tally, source, epoch, truth["converged_at"] - began_ms, about)
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


def judge_estimate(tally: Tally, source: str, epoch: Row, true_ms: int, about: str) -> None:
    """Count whether the estimate of a long classic rebalance is near what it took."""
    estimate_ms = epoch["not_stable_estimate_ms"]
    if true_ms < LONG_MS or estimate_ms is None:
        return
    off_ms = abs(estimate_ms - true_ms)
    near = off_ms <= max(NEAR_MS, NEAR_PERCENT * true_ms // 100)
    tally.count("estimates", source, "near" if near else "far")
    if not near:
        tally.example("estimates", f"{about}: {estimate_ms} for {true_ms}")
