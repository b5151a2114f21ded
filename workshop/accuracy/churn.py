"""Groups with random churn, for false alarms."""

from typing import Final

from workshop.accuracy.script import BOTH, CHURN, Script
from workshop.accuracy.scripts import COOPERATIVE
from workshop.accuracy.stage import Setting

_FAULTS: Final = {"scale_changes": 0.15, "crashes": 0.2, "freezes": 0.1, "slow_polls": 0.1}


def churn(seed: int) -> Script:
    """An hour in which processes of one group crash, freeze, stall, start and stop at random, without a deploy."""
    static, cooperative = seed % 4 == 3, seed % 3 == 2
    setting = Setting(
        members=3 + seed % 6,
        hours=1,
        static=static,
        assignors=COOPERATIVE if cooperative else Setting.assignors,
        has_bystander=False,
        faults=_FAULTS,
    )
    also = (
        "flapping_member session_expiries slow_member slow_revoker slow_sync stuck_group epoch_without_target"
        " unsticky_assignment unbalanced_assignment instance_id_refused"
    )
    protocol = BOTH[seed % 2]
    return Script(
        "random churn",
        also=frozenset(also.split()),
        setting=setting,
        protocols=(protocol,),
        suite=CHURN,
    )
