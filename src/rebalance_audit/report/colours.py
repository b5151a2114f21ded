"""Colours of page and pictures, on white and on black: the same in every report, and distinct for colour-blind people.

Areas have a contrast of at least 3:1 to the paper, and a group that is stable one of 3:1 to a group that is not.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.audit.group.time_account import HeldUpWhy
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.replay.describe import UNKNOWN


class Shades(NamedTuple):
    """A colour for each kind of paper."""

    light: str
    dark: str


LIGHT_PAPER: Final = "#ffffff"
DARK_PAPER: Final = "#14181f"

_QUIET: Final = Shades("#66a085", "#3f7359")
_ABSENT: Final = Shades("#8a93a0", "#6b7480")
_MOVING: Final = Shades("#7a2e00", "#ffb45c")
_ASSIGNING: Final = Shades("#5c2a72", "#fff3c4")


class StateLook(NamedTuple):
    """How a state of a group is drawn."""

    shades: Shades
    is_quiet: bool
    """Drawn low and below the others: normal states must not hide the rest."""


REBALANCING: Final = "rebalancing"
"""A classic group between two generations: no record shows which state it is in."""

STATES: Final = {
    "Stable": StateLook(_QUIET, True),
    "Empty": StateLook(_ABSENT, True),
    "Dead": StateLook(_ABSENT, True),
    UNKNOWN: StateLook(_ABSENT, True),
    "NotReady": StateLook(_ASSIGNING, False),
    "PreparingRebalance": StateLook(_MOVING, False),
    "CompletingRebalance": StateLook(_ASSIGNING, False),
    "Assigning": StateLook(_ASSIGNING, False),
    "Reconciling": StateLook(_MOVING, False),
    REBALANCING: StateLook(_MOVING, False),
}

MARKS: Final = {
    "owned": Shades("#5f8fc4", "#3f6ea3"),
    "on_the_way": Shades("#7a2e00", "#ffb45c"),
    "waited": Shades("#4b2a99", "#b9a6ff"),
    "giving_up": Shades("#e6007a", "#ff66cc"),
    "unowned": Shades("#b3261e", "#ff8a80"),
}
"""Marks of the lanes of members and partitions."""


class LegendEntry(NamedTuple):
    """What a legend has one entry for."""

    name: str
    shades: Shades


_CAUSE: Final = RebalanceCause
CAUSE_KINDS: Final[Mapping[LegendEntry, tuple[RebalanceCause, ...]]] = {
    LegendEntry("a member joined", Shades("#1376ff", "#245fff")): (
        _CAUSE.GROUP_CREATED,
        _CAUSE.MEMBER_JOINED,
        _CAUSE.STATIC_MEMBER_JOINED,
        _CAUSE.STATIC_MEMBER_REPLACED,
    ),
    LegendEntry("a member left or was removed", Shades("#76486d", "#f497ba")): (
        _CAUSE.MEMBER_LEFT,
        _CAUSE.MEMBER_REMOVED_BY_ADMIN,
        _CAUSE.GROUP_EMPTIED,
        _CAUSE.GROUP_DELETED,
    ),
    LegendEntry("a member timed out or departed", Shades("#801600", "#8e6901")): (
        _CAUSE.MEMBER_SESSION_EXPIRED,
        _CAUSE.MEMBER_REBALANCE_TIMEOUT,
        _CAUSE.PENDING_MEMBER_EXPIRED,
        _CAUSE.STATIC_MEMBER_EXPIRED,
        _CAUSE.MEMBER_DEPARTED,
    ),
    LegendEntry("topics or subscriptions changed", Shades("#027b4f", "#20a86b")): (
        _CAUSE.TOPIC_METADATA_CHANGED,
        _CAUSE.SUBSCRIPTION_CHANGED,
        _CAUSE.REGEX_RESOLVED,
        _CAUSE.OFFSETS_ALTERED,
    ),
    LegendEntry("assignor or protocol changed", Shades("#a38c00", "#d1c443")): (
        _CAUSE.ASSIGNOR_CHANGED,
        _CAUSE.CLIENT_ASSIGNOR_REQUESTED,
        _CAUSE.LEADER_REJOINED,
        _CAUSE.PROTOCOL_UPGRADED,
        _CAUSE.PROTOCOL_DOWNGRADED,
    ),
    LegendEntry("follow-up", Shades("#4409b0", "#b099ff")): (
        _CAUSE.COOPERATIVE_FOLLOW_UP,
        _CAUSE.ASSIGNMENT_ONLY,
    ),
    LegendEntry("unknown", Shades("#8a939f", "#6d7783")): (_CAUSE.UNKNOWN,),
}
"""Kinds of causes, each with its colour and the causes it covers. More colours could not be distinguished.

They differ in lightness as much as in hue, so that they stay distinct for colour-blind readers.
"""

KIND_OF_CAUSE: Final[Mapping[str | None, int]] = {
    **{cause: number for number, causes in enumerate(CAUSE_KINDS.values()) for cause in causes},
    None: len(CAUSE_KINDS) - 1,
}
"""Cause -> number of its kind in `CAUSE_KINDS`; a rebalance without one is of an unknown kind."""

COSTS: Final[Mapping[str | None, LegendEntry]] = {
    HeldUpWhy.KEPT_PARTITIONS: LegendEntry(
        "a member kept its partitions", Shades("#b0004a", "#ffbccc")
    ),
    HeldUpWhy.DID_NOT_REJOIN: LegendEntry("a member did not rejoin", Shades("#490e00", "#b83d37")),
    HeldUpWhy.LATE: LegendEntry("a member has not reached the epoch", Shades("#6b6b00", "#e0ff8c")),
    HeldUpWhy.SILENT: LegendEntry("a member was silent", Shades("#ed5b54", "#ff6d55")),
    HeldUpWhy.HAD_LEFT: LegendEntry("a static member had left", Shades("#006e9d", "#0074b4")),
    HeldUpWhy.COORDINATOR: LegendEntry("the coordinator moved", Shades("#161a6e", "#9eb2fc")),
    None: LegendEntry("no member known to have held it up", Shades("#849199", "#848688")),
}
"""Reason code of `gold.rebalances.held_up_why` -> what cost the time of a rebalance; None where it is unknown."""
COST_NUMBERS: Final = {why: number for number, why in enumerate(COSTS)}

OWNERS: Final = (
    Shades("#00416b", "#98c8f5"),
    Shades("#755332", "#f3dbbc"),
    Shades("#7b68a0", "#9b72a8"),
    Shades("#13280e", "#81936b"),
    Shades("#4d7676", "#3a8c81"),
    Shades("#381a28", "#a0505c"),
    Shades("#4a4b4c", "#b6b8b9"),
)
"""Muted, so that no owner looks like a cause; owners after the seventh begin again."""
