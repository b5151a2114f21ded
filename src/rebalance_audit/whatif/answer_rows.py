"""An answer as rows of gold.what_if, without the cluster; moments are epoch milliseconds."""

from collections.abc import Iterator

from rebalance_audit.audit.rows import Row
from rebalance_audit.whatif import explanation
from rebalance_audit.whatif.answer import Answer, Prediction
from rebalance_audit.whatif.fact_sentences import fact_sentences
from rebalance_audit.whatif.outcome import MedianRange, Outcomes
from rebalance_audit.whatif.script import Script, Settings


def answer_table_rows(answer: Answer) -> Iterator[Row]:
    """What the log shows, the control, and each change."""
    script = answer.script
    window = {
        "group_id": script.group_id,
        "from_at": script.from_ms,
        "to_at": script.to_ms,
        "refused": answer.refused,
        "records_delayed_unknown": script.rates_unknown,
    }
    asked = _settings(script.settings, script)
    yield {**window, **asked, **_logged(script)}
    simulated = {"runs": len(answer.parts), "share_played": answer.parts[0].share}
    control = {
        "label": "control",
        "scenario": "control",
        "assumptions": explanation.assumptions(answer),
    }
    yield {**window, **asked, **simulated, **control, **_losses(answer.control, script)}
    for place, prediction in enumerate(answer.predictions, 1):
        found = _prediction(answer, prediction) | {"rank": place if answer.is_ranked else None}
        yield {**window, **simulated, **found}


def refused_row(group_id: str, sentence: str, from_ms: int | None, to_ms: int | None) -> Row:
    """A group that no script can be made for, in the window that was asked for."""
    return {
        "group_id": group_id,
        "from_at": from_ms,
        "to_at": to_ms,
        "label": "refused",
        "scenario": "refused",
        "refused": sentence,
    }


def _settings(settings: Settings, script: Script) -> Row:
    return {
        "protocol": settings.protocol,
        "assignor": settings.assignors[0],
        "is_static": settings.is_static,
        "session_timeout_ms": settings.session_timeout_ms,
        "rebalance_timeout_ms": settings.rebalance_timeout_ms,
        "heartbeat_interval_ms": settings.heartbeat_interval_ms,
        "instances": len(script.instances),
    }


def _logged(script: Script) -> Row:
    logged, delayed = script.logged, script.logged.delayed
    low_ms, high_ms = logged.unowned_low_ms, logged.unowned_high_ms
    return {
        "label": "as logged",
        "scenario": "as_logged",
        "rebalances": logged.rebalances,
        "partitions_moved": logged.partitions_moved,
        "unowned_partition_ms": high_ms if low_ms == high_ms else None,
        "unowned_partition_low_ms": low_ms,
        "unowned_partition_high_ms": high_ms,
        "records_delayed": None if delayed is None else delayed.estimate,
        "records_delayed_low": None if delayed is None else delayed.low,
        "records_delayed_high": None if delayed is None else delayed.high,
        "facts": fact_sentences(script),
    }


def _prediction(answer: Answer, prediction: Prediction) -> Row:
    return {
        "label": prediction.label,
        "scenario": "predicted",
        **_settings(prediction.settings, prediction.script),
        **_losses(prediction.outcomes, prediction.script),
        "because": explanation.reasons(answer, prediction),
        "costs": explanation.costs(answer, prediction),
    }


def _losses(outcomes: Outcomes, script: Script) -> Row:
    found = {
        **_range("rebalances", "", outcomes.rebalances),
        **_range("partitions_moved", "", outcomes.partitions_moved),
        **_range("unowned_partition", "_ms", outcomes.unowned_ms),
        **_range("longest_stop", "_ms", outcomes.longest_stop_ms),
    }
    if script.rates:
        found |= _range("records_delayed", "", outcomes.records_delayed)
    return found


def _range(name: str, unit: str, found: MedianRange) -> Row:
    return {
        f"{name}{unit}": found.median,
        f"{name}_low{unit}": found.low,
        f"{name}_high{unit}": found.high,
    }
