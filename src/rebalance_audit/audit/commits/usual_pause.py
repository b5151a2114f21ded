"""How often the members of a group commit while nothing disturbs them, learned from the log."""

from collections.abc import Iterable
from typing import Final

from rebalance_audit.audit.commits.summary import CommitSummary

SAMPLES: Final = 64
"""Number of pauses that are remembered, the most recent ones: bounds memory and follows a changed configuration."""
SAMPLES_OF_A_ROUND: Final = 8
"""Number of partitions of one generation that give a sample: members of one application commit alike."""
SHORTEST_MS: Final = 200
"""Shorter pauses belong to one batch of commits."""
USUAL: Final = 0.8
"""The share of pauses that are at most as long as the usual one: early commits must not shorten it."""
SHOWS_TIMER: Final = 4
ON_TIME: Final = 1.03
"""A timer's pauses differ by no more than this from one another."""


class UsualPause:
    """The usual pause between two commits for one partition, in ms by the coordinator's clock."""

    _pauses_ms: list[int]

    def __init__(self) -> None:
        self._pauses_ms = []

    def learn(self, round_summaries: Iterable[CommitSummary]) -> None:
        """Take over the pauses of one generation."""
        self._pauses_ms = (self._pauses_ms + _shown(round_summaries))[-SAMPLES:]

    def usual_ms(self, round_summaries: Iterable[CommitSummary] = ()) -> int | None:
        """The usual pause of the generations so far, and of one more; None if none shows a pause."""
        pauses = sorted((self._pauses_ms + _shown(round_summaries))[-SAMPLES:])
        return pauses[min(len(pauses) - 1, int(len(pauses) * USUAL))] if pauses else None

    def timer_ms(self) -> int | None:
        """The interval on which the members commit by a timer; None if most pauses do not agree on one."""
        pauses = sorted(self._pauses_ms)
        if len(pauses) < SHOWS_TIMER:
            return None
        short, long = (pauses[int(len(pauses) * share)] for share in (1 - USUAL, USUAL))
        return short if long <= ON_TIME * short else None

    def forget(self) -> None:
        """The group is gone."""
        self._pauses_ms = []


def _shown(summaries: Iterable[CommitSummary]) -> list[int]:
    most = sorted(summaries, key=lambda each: (-each.commits, each.first_offset))
    pauses = [_pause(each) for each in most[:SAMPLES_OF_A_ROUND]]
    return [pause for pause in pauses if pause is not None and pause >= SHORTEST_MS]


def _pause(summary: CommitSummary) -> int | None:
    """The mean pause but for the last one, which a rebalance may have cut short."""
    if summary.pause_ms is None or summary.last_ms < summary.first_ms:
        return None
    if summary.commits == 2:
        return summary.pause_ms
    return (summary.last_ms - summary.first_ms - summary.pause_ms) // (summary.commits - 2)
