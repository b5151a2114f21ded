"""When the next round begins, and when there is none."""

import threading

from rebalance_audit.cli.times import rounds


def test_there_is_one_round_at_least_and_none_after_the_end() -> None:
    """Even where the time to stop has passed before the second would begin."""
    assert len([*rounds(60, 1, threading.Event())]) == 1


def test_rounds_follow_each_other_until_asked_to_end() -> None:
    """Asked during a round, that round is the last."""
    asked = threading.Event()
    seen = 0
    for _ in rounds(0.001, None, asked):
        seen += 1
        if seen == 3:
            asked.set()
    assert seen == 3
