"""The garbage collector during long work."""

import gc

from rebalance_audit.garbage import imports_aside


def test_only_what_the_work_makes_is_collected() -> None:
    """What was there before is set aside, cycles that the work leaves go, and afterwards all is as it was."""
    frozen_before = gc.get_freeze_count()
    with imports_aside():
        assert gc.get_freeze_count() > frozen_before
        circle: list[object] = []
        circle.append(circle)
        del circle
        assert gc.collect() >= 1
    assert gc.get_freeze_count() == frozen_before
