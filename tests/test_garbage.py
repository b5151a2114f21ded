"""The garbage collector during long work."""

import gc

from rebalance_audit.garbage import collecting_less


def test_only_what_the_work_makes_is_collected_and_later() -> None:
    """What was there before is set aside, cycles that the work leaves can go, and afterwards all is as it was."""
    before = gc.get_freeze_count(), gc.get_threshold()
    with collecting_less():
        assert gc.get_freeze_count() > before[0]
        assert gc.get_threshold()[0] > before[1][0]
        assert gc.isenabled()
        circle: list[object] = []
        circle.append(circle)
        del circle
        assert gc.collect() >= 1
    assert (gc.get_freeze_count(), gc.get_threshold()) == before


def test_what_was_exempt_before_stays_exempt() -> None:
    """A worker of Spark's collects after each task: not once more all that its daemon has set aside."""
    set_aside: list[object] = []
    gc.freeze()
    try:
        with collecting_less():
            pass
        assert not any(known is set_aside for known in gc.get_objects())
    finally:
        gc.unfreeze()
    assert any(known is set_aside for known in gc.get_objects())
