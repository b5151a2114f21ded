"""A script as a file that people read and edit: JSON, its moments in ISO 8601, a line for each process and event."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import eq
from typing import Any, Final

import orjson
from cattrs import BaseValidationError, Converter, transform_error
from cattrs.cols import (
    is_namedtuple,
    namedtuple_dict_structure_factory,
    namedtuple_dict_unstructure_factory,
)
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from rebalance_audit.errors import BadRequest
from rebalance_audit.limits import SCRIPT_BYTES
from rebalance_audit.moment_text import parse_moment
from rebalance_audit.sentences.words import iso
from rebalance_audit.whatif.script import (
    SCRIPT_FORMAT,
    AppInstance,
    ArrivalRates,
    CoordinatorMove,
    Count,
    EpochMs,
    Event,
    LengthSpread,
    Logged,
    MomentSpread,
    ProcessEnd,
    ProcessLife,
    Script,
    Settings,
    SlowRevocation,
    Spread,
    SubscriptionChange,
    TopicDeletion,
    TopicExpansion,
)

_RATE_MAX: Final = 1_000_000_000
_NUMBER_MAX: Final = (1 << 31) - 1
_PROTOCOLS: Final = ("classic", "consumer")
_EVENTS: Final[Mapping[str, type]] = {
    "topic_growth": TopicExpansion,
    "topic_deletion": TopicDeletion,
    "coordinator_move": CoordinatorMove,
    "slow_revocation": SlowRevocation,
    "subscription_change": SubscriptionChange,
}
_EVENT_NAMES: Final = {kind: name for name, kind in _EVENTS.items()}
_NAMES: Final[Mapping[type, Mapping[str, str]]] = {
    Settings: {"is_static": "static"},
    Logged: {"delayed": "records_delayed"},
    SlowRevocation: {"start": "from", "end": "to"},
    ProcessLife: {"ends": "ended"},
    AppInstance: {"lives": "processes"},
    Script: {
        "from_ms": "from",
        "to_ms": "to",
        "logged": "as_logged",
        "rates": "records_per_second",
        "rates_unknown": "records_per_second_unknown",
    },
}
"""Names of fields in the file where they differ; what a class holds comes before it."""

_IN_FILE: Final = {
    field: name
    for of, names in _NAMES.items()
    if of is not SlowRevocation  # a process has `start` and `end` in the file, too
    for field, name in names.items()
}
_FIELD: Final = re.compile(r"\w+")


def script_text(script: Script) -> str:
    """The file's text."""
    plain = _FILE.unstructure(script)
    instances, events = plain.pop("instances"), plain.pop("events")
    lines = [f'  "format": {_json(SCRIPT_FORMAT)}']
    lines += [f"  {_json(name)}: {_json(value)}" for name, value in plain.items()]
    lines.append(f'  "instances": {_listed([_instance_text(each) for each in instances])}')
    lines.append(f'  "events": {_listed(list(map(_json, events)))}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _listed(items: list[str]) -> str:
    return "[\n    " + ",\n    ".join(items) + "\n  ]" if items else "[]"


def _instance_text(plain: dict[str, Any]) -> str:
    processes = ",\n      ".join(map(_json, plain.pop("processes")))
    return f'{_json(plain)[:-1]},"processes":[\n      {processes}\n    ]}}'


def script_from(text: bytes, file: str) -> Script:
    """The script in a file's text. Raises BadRequest that names the file and the field."""
    if len(text) > SCRIPT_BYTES.most:
        raise BadRequest(
            f"{file} has more than {SCRIPT_BYTES.most >> 20} MiB: no script is as large."
        )
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"{file} is not JSON: {error}.") from None
    if not isinstance(found, Mapping) or found.get("format") != SCRIPT_FORMAT:
        raise BadRequest(f"{file}: its format is not {SCRIPT_FORMAT!r}.")
    try:
        script = _FILE.structure(found, Script)
        _check(script)
    except BadRequest as error:
        raise BadRequest(f"{file}: {error}") from None
    except BaseValidationError as error:
        what, _, path = transform_error(error, format_exception=_what)[0].rpartition(" @ $")
        where = _FIELD.sub(lambda each: _IN_FILE.get(each[0], each[0]), path.lstrip("."))
        raise BadRequest(": ".join(filter(None, (file, where, what)))) from None
    return script


def _what(error: BaseException, _: object) -> str:
    return f"{error} is missing." if isinstance(error, KeyError) else str(error)


def _check(script: Script) -> None:
    """What the types do not say. Raises BadRequest."""
    settings = script.settings
    if settings.protocol not in _PROTOCOLS:
        raise BadRequest(f"protocol is {settings.protocol!r}, not one of {', '.join(_PROTOCOLS)}.")
    if not settings.assignors:
        raise BadRequest("assignors is empty.")
    for name in ("session_timeout_ms", "rebalance_timeout_ms", "heartbeat_interval_ms"):
        if getattr(settings, name) < 1:
            raise BadRequest(f"{name} must be at least 1.")
    names = {each.name for each in script.instances}
    if len(names) < len(script.instances):
        raise BadRequest("two instances have the same name.")
    for event in script.events:
        if isinstance(event, SlowRevocation | SubscriptionChange) and event.instance not in {
            *names,
            None,
        }:
            raise BadRequest(f"an event names the instance {event.instance!r}, which is not there.")
    for ends in (life.ends for each in script.instances for life in each.lives):
        if not ends or min(ends.values()) < 0 or not sum(ends.values()):
            raise BadRequest("the probabilities of how a process ended must be positive.")


# --- values ----------------------------------------------------------------------------------------


def _whole(value: Any, _: object = int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequest(f"{value!r} is not a number.")
    return int(value)


def _count(value: Any, _: object = Count) -> int:
    found = _whole(value)
    if not 0 <= found <= _NUMBER_MAX:
        raise BadRequest(f"it must lie between 0 and {_NUMBER_MAX:,}.")
    return found


def _text(value: Any, _: object) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"{value!r} is not a text.")
    return value


def _texts(value: Any, _: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadRequest("it is not a list of names.")
    return tuple(value)


def _ms(value: Any, _: object = EpochMs) -> int:
    # Relative times would make the script depend on the day; from 1970 on they are out of bounds.
    return parse_moment(value, 0) if isinstance(value, str) else _whole(value)


def _rates(
    found: Mapping[str, Sequence[float | None]] | None, _: object = ArrivalRates
) -> ArrivalRates:
    rates = {
        str(topic): [None if each is None else float(each) for each in of_topic]
        for topic, of_topic in (found or {}).items()
    }
    known = [each for of_topic in rates.values() for each in of_topic if each is not None]
    if not all(0 <= each <= _RATE_MAX for each in known):
        raise BadRequest(f"it must lie between 0 and {_RATE_MAX:,}.")
    return rates if known else {}


def _event(value: Any, _: object) -> Any:
    kind = _EVENTS.get(str(value["event"]))
    if kind is None:
        raise BadRequest(f"there is no event {value['event']!r}.")
    return _FILE.structure(value, kind)


def _life(life: ProcessLife) -> dict[str, Any]:
    found: dict[str, Any] = {"start": _FILE.unstructure(life.start, MomentSpread)}
    if life.end is not None:
        found["end"] = _FILE.unstructure(life.end, MomentSpread)
        found["ended"] = {end.value: round(weight, 3) for end, weight in life.ends.items()}
    return found


class _Bounds:
    """A spread as one value, or as an object with these names."""

    def __init__(
        self, low: str, high: str, read: Callable[[Any], int], write: Callable[[int], Any]
    ) -> None:
        self._names = (low, high, "likely")
        self._read, self._write = read, write

    def plain(self, spread: Spread) -> Any:
        if spread.low == spread.high:
            return self._write(spread.low)
        bounds = zip(self._names, spread, strict=True)
        return {name: self._write(value) for name, value in bounds if value is not None}

    def spread(self, value: Any, _: object) -> Spread:
        if isinstance(value, Mapping):
            low, high = (self._read(value[name]) for name in self._names[:2])
            likely = value.get("likely")
            found = Spread(low, high, None if likely is None else self._read(likely))
        else:
            found = Spread(self._read(value), self._read(value))
        likely = found.low if found.likely is None else found.likely
        if not 0 <= found.low <= likely <= found.high:
            raise BadRequest(f"bounds must be in order: {found.low}, {likely}, {found.high}.")
        return found


def _converter() -> Converter:
    """Of scripts to JSON values and back."""
    made = Converter()
    made.register_structure_hook_factory(is_namedtuple, namedtuple_dict_structure_factory)
    made.register_unstructure_hook_factory(is_namedtuple, namedtuple_dict_unstructure_factory)
    # By class: without those of bool and ProcessEnd, their base classes' would be taken.
    scalars: dict[type, Callable[[Any, Any], Any]] = {
        int: _whole,
        str: _text,
        bool: lambda value, _: bool(value),
        ProcessEnd: lambda value, _: ProcessEnd(value),
    }
    for scalar, read in scalars.items():
        made.register_structure_hook(scalar, read)
    reads: dict[Any, Callable[[Any, Any], Any]] = {
        Count: _count,
        EpochMs: _ms,
        ArrivalRates: _rates,
        Event: _event,
        tuple[str, ...]: _texts,
    }
    writes: dict[Any, Callable[[Any], Any]] = {
        EpochMs: iso,
        ArrivalRates: lambda rates: rates or None,
        Event: lambda event: {"event": _EVENT_NAMES[type(event)], **made.unstructure(event)},
    }
    for kind, bounds in (
        (MomentSpread, _Bounds("earliest", "latest", _ms, iso)),
        (LengthSpread, _Bounds("low", "high", _count, int)),
    ):
        reads[kind], writes[kind] = bounds.spread, bounds.plain
    for kind, read in reads.items():
        made.register_structure_hook_func(partial(eq, kind), read)
    for kind, write in writes.items():
        made.register_unstructure_hook_func(partial(eq, kind), write)
    for of, names in _NAMES.items():
        renamed: dict[str, Any] = {field: override(rename=name) for field, name in names.items()}
        made.register_structure_hook(of, make_dict_structure_fn(of, made, **renamed))
        made.register_unstructure_hook(of, make_dict_unstructure_fn(of, made, **renamed))
        if of is ProcessLife:
            made.register_unstructure_hook(of, _life)
    return made


_FILE: Final = _converter()
