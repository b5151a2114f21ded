"""A script as a file that people read and edit: JSON, its moments in ISO 8601, a line for each process and event."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from rebalance_audit.errors import BadRequest
from rebalance_audit.limits import SCRIPT_BYTES
from rebalance_audit.moment_text import parse_moment
from rebalance_audit.sentences.words import iso
from rebalance_audit.whatif.arrival_rates import ArrivalRates
from rebalance_audit.whatif.facts import facts_from
from rebalance_audit.whatif.script import (
    SCRIPT_FORMAT,
    AppInstance,
    CoordinatorMove,
    Event,
    Habits,
    Logged,
    LoggedDelay,
    ProcessEnd,
    ProcessLife,
    Script,
    Settings,
    SlowRevocation,
    SubscriptionChange,
    TopicDeletion,
    TopicExpansion,
)
from rebalance_audit.whatif.spread import Spread

_RATE_MAX: Final = 1_000_000_000
_NUMBER_MAX: Final = (1 << 31) - 1
_GROWTH: Final = "topic_growth"
_DELETION: Final = "topic_deletion"
_MOVE: Final = "coordinator_move"
_SLOW: Final = "slow_revocation"
_SUBSCRIPTION: Final = "subscription_change"


# --- writing ---------------------------------------------------------------------------------------


def script_text(script: Script) -> str:
    """The file's text."""
    settings, habits, logged = script.settings, script.habits, script.logged
    head: dict[str, Any] = {
        "format": SCRIPT_FORMAT,
        "group_id": script.group_id,
        "from": iso(script.from_ms),
        "to": iso(script.to_ms),
        "settings": {
            "protocol": settings.protocol,
            "assignors": list(settings.assignors),
            "static": settings.is_static,
            "session_timeout_ms": settings.session_timeout_ms,
            "rebalance_timeout_ms": settings.rebalance_timeout_ms,
            "heartbeat_interval_ms": settings.heartbeat_interval_ms,
        },
        "habits": {
            "latency_ms": habits.latency_ms,
            "revoke_ms": _length(habits.revoke_ms),
            "assign_ms": _length(habits.assign_ms),
            "restart_ms": None if habits.restart_ms is None else _length(habits.restart_ms),
            "commit_interval_ms": habits.commit_interval_ms,
            "leader_ms": habits.leader_ms,
            "initial_delay_ms": habits.initial_delay_ms,
        },
        "as_logged": {
            "rebalances": logged.rebalances,
            "partitions_moved": logged.partitions_moved,
            "unowned_low_ms": logged.unowned_low_ms,
            "unowned_high_ms": logged.unowned_high_ms,
            "longest_stop_ms": logged.longest_stop_ms,
            "records_delayed": None if logged.delayed is None else logged.delayed._asdict(),
        },
        "assumptions": script.assumptions,
        "topics": script.topics,
        "records_per_second": script.rates or None,
        "records_per_second_unknown": script.rates_unknown,
        "facts": None if script.facts is None else script.facts._asdict(),
    }
    lines = [f"  {_json(name)}: {_json(value)}" for name, value in head.items()]
    lines.append(f'  "instances": {_listed([_instance(each) for each in script.instances])}')
    lines.append(f'  "events": {_listed([_json(_event(each)) for each in script.events])}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _listed(items: list[str]) -> str:
    return "[\n    " + ",\n    ".join(items) + "\n  ]" if items else "[]"


def _instance(instance: AppInstance) -> str:
    head = {"name": instance.name, "topics": list(instance.topics), "regex": instance.regex}
    lives = ",\n      ".join(_json(_life(life)) for life in instance.lives)
    return f'{_json(head)[:-1]},"processes":[\n      {lives}\n    ]}}'


def _life(life: ProcessLife) -> dict[str, Any]:
    found: dict[str, Any] = {"start": _moment(life.start)}
    if life.end is not None:
        found["end"] = _moment(life.end)
        found["ended"] = {end.value: round(weight, 3) for end, weight in life.ends.items()}
    return found


def _event(event: Event) -> dict[str, Any]:
    match event:
        case TopicExpansion():
            return {
                "event": _GROWTH,
                "at": _moment(event.at),
                "topic": event.topic,
                "partitions": event.partitions,
            }
        case TopicDeletion():
            return {"event": _DELETION, "at": _moment(event.at), "topic": event.topic}
        case CoordinatorMove():
            return {
                "event": _MOVE,
                "at": _moment(event.at),
                "pause_ms": _length(event.pause_ms),
            }
        case SlowRevocation():
            return {
                "event": _SLOW,
                "from": _moment(event.start),
                "to": _moment(event.end),
                "instance": event.instance,
                "revoke_ms": _length(event.revoke_ms),
            }
        case SubscriptionChange():
            return {
                "event": _SUBSCRIPTION,
                "at": _moment(event.at),
                "instance": event.instance,
                "topics": list(event.topics),
            }


def _moment(spread: Spread) -> Any:
    if spread.low == spread.high:
        return iso(spread.low)
    bounds = {"earliest": iso(spread.low), "latest": iso(spread.high)}
    return bounds if spread.likely is None else {**bounds, "likely": iso(spread.likely)}


def _length(spread: Spread) -> Any:
    if spread.low == spread.high:
        return spread.low
    bounds = {"low": spread.low, "high": spread.high}
    return bounds if spread.likely is None else {**bounds, "likely": spread.likely}


# --- reading ---------------------------------------------------------------------------------------


def script_from(text: bytes, file: str) -> Script:
    """The script in a file's text. Raises BadRequest that names the file and the field."""
    try:
        if len(text) > SCRIPT_BYTES.most:
            raise BadRequest(
                f"{file} has more than {SCRIPT_BYTES.most >> 20} MiB: no script is as large."
            )
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"{file} is not JSON: {error}.") from None
    try:
        return _script(found)
    except KeyError as error:
        raise BadRequest(f"{file}: a field {error} is missing.") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise BadRequest(f"{file}: {error}") from None


def _script(found: Mapping[str, Any]) -> Script:
    if found["format"] != SCRIPT_FORMAT:
        raise BadRequest(f"its format is {found['format']!r}, not {SCRIPT_FORMAT!r}.")
    settings, habits, logged = found["settings"], found["habits"], found["as_logged"]
    if not settings["assignors"]:
        raise BadRequest("assignors is empty.")
    instances = [_read_instance(each) for each in found["instances"]]
    names = [each.name for each in instances]
    if len(set(names)) < len(names):
        raise BadRequest("two instances have the same name.")
    events = [_read_event(each) for each in found["events"]]
    for event in events:
        if isinstance(event, SlowRevocation | SubscriptionChange) and event.instance not in {
            *names,
            None,
        }:
            raise BadRequest(f"an event names the instance {event.instance!r}, which is not there.")
    return Script(
        str(found["group_id"]),
        _read_ms(found["from"]),
        _read_ms(found["to"]),
        Settings(
            _one_of(settings["protocol"], ("classic", "consumer"), "protocol"),
            _names(settings["assignors"], "assignors"),
            bool(settings["static"]),
            *(
                _number(settings[name], name, 1)
                for name in ("session_timeout_ms", "rebalance_timeout_ms", "heartbeat_interval_ms")
            ),
        ),
        Habits(
            _number(habits["latency_ms"], "latency_ms"),
            _read_length(habits["revoke_ms"]),
            _read_length(habits["assign_ms"]),
            None if habits["restart_ms"] is None else _read_length(habits["restart_ms"]),
            *(
                _number(habits[name], name)
                for name in ("commit_interval_ms", "leader_ms", "initial_delay_ms")
            ),
        ),
        {str(name): _number(count, "topics") for name, count in found["topics"].items()},
        instances,
        events,
        Logged(
            int(logged["rebalances"]),
            int(logged["partitions_moved"]),
            logged["unowned_low_ms"],
            logged["unowned_high_ms"],
            logged["longest_stop_ms"],
            _read_delay(logged.get("records_delayed")),
        ),
        [str(each) for each in found["assumptions"]],
        _read_rates(found.get("records_per_second")),
        found.get("records_per_second_unknown"),
        None if found.get("facts") is None else facts_from(found["facts"]),
    )


def _number(value: Any, field: str, least: int = 0) -> int:
    """A whole number that a field of Kafka's protocol can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequest(f"{field} is {value!r}, not a number.")
    if not least <= value <= _NUMBER_MAX:
        raise BadRequest(f"{field} must lie between {least} and {_NUMBER_MAX:,}.")
    return int(value)


def _names(value: Any, field: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadRequest(f"{field} is not a list of names.")
    return tuple(value)


def _read_rates(found: Mapping[str, Sequence[float | None]] | None) -> ArrivalRates:
    rates = {
        str(topic): [None if each is None else float(each) for each in of_topic]
        for topic, of_topic in (found or {}).items()
    }
    known = [each for of_topic in rates.values() for each in of_topic if each is not None]
    if not all(0 <= each <= _RATE_MAX for each in known):
        raise BadRequest(f"records_per_second must lie between 0 and {_RATE_MAX:,}.")
    return rates if known else {}


def _read_delay(found: Mapping[str, int | None] | None) -> LoggedDelay | None:
    if found is None:
        return None
    return LoggedDelay(int(found["estimate"] or 0), found["low"], found["high"])


def _one_of(value: object, known: tuple[str, ...], field: str) -> str:
    if value not in known:
        raise BadRequest(f"{field} is {value!r}, not one of {', '.join(known)}.")
    return str(value)


def _read_instance(found: Mapping[str, Any]) -> AppInstance:
    lives = [_read_life(each) for each in found["processes"]]
    topics, regex = tuple(found["topics"]), found.get("regex")
    if not all(isinstance(each, str) for each in topics) or not isinstance(regex, str | None):
        raise BadRequest("topics and regex of an instance are texts.")
    return AppInstance(str(found["name"]), topics, lives, regex)


def _read_life(found: Mapping[str, Any]) -> ProcessLife:
    start = _read_moment(found["start"])
    if "end" not in found:
        return ProcessLife(start)
    ends = {ProcessEnd(name): float(weight) for name, weight in found["ended"].items()}
    if not ends or min(ends.values()) < 0 or not sum(ends.values()):
        raise BadRequest("the probabilities of how a process ended must be positive.")
    return ProcessLife(start, _read_moment(found["end"]), ends)


def _read_event(found: Mapping[str, Any]) -> Event:
    match found["event"]:
        case "topic_growth":
            at = _read_moment(found["at"])
            return TopicExpansion(
                at, str(found["topic"]), _number(found["partitions"], "partitions")
            )
        case "topic_deletion":
            return TopicDeletion(_read_moment(found["at"]), str(found["topic"]))
        case "coordinator_move":
            return CoordinatorMove(_read_moment(found["at"]), _read_length(found["pause_ms"]))
        case "slow_revocation":
            return SlowRevocation(
                _read_moment(found["from"]),
                _read_moment(found["to"]),
                found["instance"],
                _read_length(found["revoke_ms"]),
            )
        case "subscription_change":
            at = _read_moment(found["at"])
            return SubscriptionChange(at, str(found["instance"]), _names(found["topics"], "topics"))
    raise BadRequest(f"there is no event {found['event']!r}.")


def _read_ms(value: object) -> int:
    if isinstance(value, str):
        # Relative times would make the script depend on the day; from 1970 on they are out of bounds.
        return parse_moment(value, 0)
    if not isinstance(value, int):
        raise BadRequest(f"{value!r} is not a time.")
    return value


def _read_moment(value: Any) -> Spread:
    if isinstance(value, Mapping):
        likely = value.get("likely")
        return _checked(
            Spread(
                _read_ms(value["earliest"]),
                _read_ms(value["latest"]),
                None if likely is None else _read_ms(likely),
            )
        )
    moment = _read_ms(value)
    return _checked(Spread(moment, moment))


def _read_length(value: Any) -> Spread:
    if isinstance(value, Mapping):
        likely = value.get("likely")
        return _checked(
            Spread(
                _number(value["low"], "low"),
                _number(value["high"], "high"),
                None if likely is None else _number(likely, "likely"),
            )
        )
    length = _number(value, "a length")
    return _checked(Spread(length, length))


def _checked(spread: Spread) -> Spread:
    likely = spread.low if spread.likely is None else spread.likely
    if not 0 <= spread.low <= likely <= spread.high:
        raise BadRequest(f"bounds must be in order: {spread.low}, {likely}, {spread.high}.")
    return spread
