"""The changes worth trying for a group when its owner names none."""

from typing import Final

from rebalance_audit.whatif.habits import RESTART_MS, USUAL_SESSIONS_MS
from rebalance_audit.whatif.script import Script
from rebalance_audit.whatif.variant import CLASSIC, CONSUMER, Variant

COOPERATIVE: Final = "cooperative-sticky"
_SPARE: Final = 1.5
"""How much longer than most restarts a static member's session should last."""
_DEFAULT_SESSION_MS: Final = 45_000
_DEFAULT_HEARTBEAT_MS: Final = 3_000


def variants_of(script: Script) -> list[Variant]:
    """The sensible changes for a group; each differs from its settings."""
    before = script.settings
    session_ms = _session_for_restarts(script)
    longer_ms = session_ms if session_ms > before.session_timeout_ms else None
    changes: list[Variant] = []
    if before.protocol == CLASSIC:
        changes.append(Variant(assignor=COOPERATIVE))
        changes.append(Variant(is_static=True, session_timeout_ms=longer_ms))
        changes.append(Variant(assignor=COOPERATIVE, is_static=True, session_timeout_ms=longer_ms))
        changes.append(Variant(protocol=CONSUMER))
        changes.append(Variant(protocol=CONSUMER, is_static=True, session_timeout_ms=longer_ms))
    else:
        changes.append(Variant(is_static=True, session_timeout_ms=longer_ms))
        changes.append(Variant(assignor="range"))
    if before.is_static:
        changes.append(Variant(is_static=False))
        if before.protocol == CLASSIC:
            changes.append(Variant(protocol=CONSUMER, is_static=False))
    if before.session_timeout_ms < _DEFAULT_SESSION_MS:
        changes.append(Variant(session_timeout_ms=_DEFAULT_SESSION_MS))
    if before.heartbeat_interval_ms > _DEFAULT_HEARTBEAT_MS:
        changes.append(Variant(heartbeat_interval_ms=_DEFAULT_HEARTBEAT_MS))
    seen = {before}
    found: list[Variant] = []
    for change in changes:
        after = change.settings(before)
        if after not in seen:
            seen.add(after)
            found.append(change)
    return found


def _session_for_restarts(script: Script) -> int:
    """A usual session timeout that outlasts most restarts."""
    needed_ms = round(_SPARE * (script.habits.restart_ms or RESTART_MS).high)
    return next((each for each in USUAL_SESSIONS_MS if each >= needed_ms), USUAL_SESSIONS_MS[-1])
