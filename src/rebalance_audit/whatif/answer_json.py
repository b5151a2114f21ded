"""An answer as an object for programs: durations in milliseconds, moments in ISO 8601."""

from typing import Any

from rebalance_audit.sentences.words import iso
from rebalance_audit.whatif import explanation
from rebalance_audit.whatif.answer import TOLERANCE, Answer, Prediction
from rebalance_audit.whatif.fact_sentences import fact_sentences
from rebalance_audit.whatif.outcome import MedianRange, Outcomes
from rebalance_audit.whatif.script import Logged, Script, Settings
from rebalance_audit.whatif.tracker import REASONS


def answer_object(answer: Answer) -> dict[str, Any]:
    """The whole answer."""
    script = answer.script
    return {
        "group_id": script.group_id,
        "refused": answer.refused,
        "from": iso(script.from_ms),
        "to": iso(script.to_ms),
        "settings": _settings(script.settings, script),
        "seeds": len(answer.parts),
        "share_played": round(answer.parts[0].share, 4),
        "tolerance": TOLERANCE,
        "facts": _facts(script),
        "as_logged": _logged(script.logged),
        "control": _outcomes(answer.control, script),
        "predicted": [_prediction(answer, each) for each in answer.predictions],
        "records_delayed_unknown": script.rates_unknown,
        "assumptions": explanation.assumptions(answer),
    }


def refused_object(group_id: str, sentence: str) -> dict[str, Any]:
    """The answer about a group that no script can be made for."""
    return {
        "group_id": group_id,
        "refused": sentence,
        "facts": None,
        "as_logged": None,
        "control": None,
        "predicted": [],
        "assumptions": [],
    }


def _facts(script: Script) -> dict[str, Any] | None:
    if script.facts is None:
        return None
    return {**script.facts._asdict(), "sentences": fact_sentences(script)}


def _settings(settings: Settings, script: Script) -> dict[str, Any]:
    return {
        "protocol": settings.protocol,
        "assignor": settings.assignors[0],
        "static": settings.is_static,
        "session_timeout_ms": settings.session_timeout_ms,
        "rebalance_timeout_ms": settings.rebalance_timeout_ms,
        "heartbeat_interval_ms": settings.heartbeat_interval_ms,
        "members": len(script.instances),
    }


def _logged(logged: Logged) -> dict[str, Any]:
    low_ms, high_ms = logged.unowned_low_ms, logged.unowned_high_ms
    return {
        "rebalances": logged.rebalances,
        "partitions_moved": logged.partitions_moved,
        "unowned_ms": None if high_ms is None else {"low": low_ms or 0, "high": high_ms},
        "records_delayed": None if logged.delayed is None else logged.delayed._asdict(),
    }


def _outcomes(outcomes: Outcomes, script: Script) -> dict[str, Any]:
    found: dict[str, Any] = {
        "rebalances": _range(outcomes.rebalances),
        "partitions_moved": _range(outcomes.partitions_moved),
        "unowned_ms": _range(outcomes.unowned_ms),
        "longest_stop_ms": _range(outcomes.longest_stop_ms),
        "records_delayed": _range(outcomes.records_delayed) if script.rates else None,
        "unowned_ms_by_reason": outcomes.unowned_by_reason(REASONS),
    }
    return found


def _range(found: MedianRange) -> dict[str, int]:
    return {"median": found.median, "low": found.low, "high": found.high}


def _prediction(answer: Answer, prediction: Prediction) -> dict[str, Any]:
    settings = _settings(prediction.settings, prediction.script)
    deploy = prediction.change.deploy
    return {
        "label": prediction.label,
        "settings": settings if deploy is None else {**settings, "deploy": str(deploy)},
        **_outcomes(prediction.outcomes, prediction.script),
        "because": explanation.reasons(answer, prediction),
        "costs": explanation.costs(answer, prediction),
    }
