"""Runs the specifications of `spec/` with Quint's evaluator (`spec/engine.js`) and reads what it says."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import orjson

ROOT: Final = Path(__file__).parents[2]
SPEC: Final = ROOT / "spec"
ENGINE: Final = ("node", "--max-semi-space-size=64", str(SPEC / "engine.js"))
"""Its values do not live long: with so many megabytes for new ones it takes a tenth less processor time."""
CONSUMER: Final = SPEC / "consumer.qnt"
CLASSIC: Final = SPEC / "classic.qnt"
HIDDEN: Final = "before,clients"
"""Variables that a trace for the handlers does without."""


def _command(command: str, module: str, file: Path, options: dict[str, Any]) -> list[str]:
    words = [
        f"--{name}" if at == 0 else str(value) for name, value in options.items() for at in (0, 1)
    ]
    return [*ENGINE, command, module, str(file), *words]


def ask(command: str, module: str, file: Path, **options: Any) -> dict[str, Any]:
    """The outcome of `check` or `explore`."""
    done = subprocess.run(
        _command(command, module, file, options), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def mistaken(
    module: str, file: Path, mistakes: Sequence[Any], **options: Any
) -> dict[str, str | None]:
    """By mistake: the property that it breaks in some random run, None where it breaks none."""
    options["properties"] = "safe,converges"
    done = subprocess.run(
        _command("mutants", module, file, options),
        input=json.dumps([each._asdict() for each in mistakes]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcomes = map(json.loads, done.stdout.splitlines())
    return {each["name"]: each["broken"] for each in outcomes}


def traces(module: str, file: Path, count: int, first_seed: int, steps: int) -> Iterator[Any]:
    """Random runs in ITF, one after the other while they are made."""
    options = {"traces": count, "steps": steps, "seed": first_seed, "hide": HIDDEN}
    with subprocess.Popen(
        _command("traces", module, file, options), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield orjson.loads(line)
    assert process.returncode == 0


class Judge:
    """One evaluator that is asked again and again: set variables, hear what definitions say."""

    def __init__(self, module: str, file: Path) -> None:
        """Starts it."""
        self._process = subprocess.Popen(
            _command("judge", module, file, {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()

    def ask(self, variables: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
        """The values of these definitions, in ITF; the variables are in ITF too."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(orjson.dumps({"set": variables, "ask": names}) + b"\n")
        self._process.stdin.flush()
        found: list[Any] = orjson.loads(self._process.stdout.readline())
        return found


def itf(value: Any) -> Any:
    """The inverse of `plain` for what needs a mark in ITF: sets, tuples and maps; records are `Fields`."""
    if isinstance(value, Fields):
        return {key: itf(item) for key, item in value.items()}
    if isinstance(value, Mapping):
        return {"#map": [[itf(key), itf(item)] for key, item in value.items()]}
    if isinstance(value, frozenset | set):
        return {"#set": [itf(each) for each in value]}
    if isinstance(value, Variant):
        return {"tag": value.tag, "value": itf(value.value)}
    if isinstance(value, tuple):
        return {"#tup": [itf(each) for each in value]}
    return value


class Fields(dict[str, Any]):
    """A record of the specification."""


class Variant(NamedTuple):
    """A value of a sum type."""

    tag: str
    value: Any = ()


NONE: Final = Variant("None")


def some(value: Any) -> Variant:
    """Some(value)."""
    return Variant("Some", value)


def plain(value: Any) -> Any:
    """A value in ITF as Python has it: sets are frozen, maps are dictionaries, None of an Option is None.

    A variant becomes (tag, value), but Some(x) is x.
    """
    if isinstance(value, list):
        return tuple(plain(each) for each in value)
    if not isinstance(value, dict):
        return value
    if "#tup" in value:
        return tuple(plain(each) for each in value["#tup"])
    if "#set" in value:
        return frozenset(plain(each) for each in value["#set"])
    if "#map" in value:
        return {plain(key): plain(item) for key, item in value["#map"]}
    if value.keys() == {"tag", "value"}:
        if value["tag"] == "None":
            return None
        inner = plain(value["value"])
        return inner if value["tag"] == "Some" else (value["tag"], inner)
    return {key: plain(item) for key, item in value.items() if key != "#meta"}
