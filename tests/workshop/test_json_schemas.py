"""What programs get is what docs/json says."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jsonschema
import orjson
import pytest

from rebalance_audit.tables.json_values import JSON_VERSION
from tests.cli.call import call, segments
from workshop import generated_files, json_schemas

LOG: Final = str(segments("consumer-protocol"))
SCHEMAS: Final = {
    path.name.partition(".")[0]: json.loads(text) for path, text in json_schemas.due().items()
}
JUDGES: Final = {name: jsonschema.Draft202012Validator(schema) for name, schema in SCHEMAS.items()}


def test_the_schemas_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    """`make codegen` writes them."""
    assert generated_files.main(json_schemas.due, ["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_a_schema(name: str) -> None:
    """A wrong keyword would allow anything."""
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("inspect", ["inspect", LOG, "--json", "--limit", "3"]),
        ("inspect", ["inspect", str(segments("classic-static")), "--json", "--table", "epochs"]),
        ("inspect", ["inspect", LOG, "--json", "--limit", "3", "--versioned"]),
        ("metrics", ["metrics", LOG, "--json"]),
        ("brief", ["inspect", LOG, "--json", "--brief"]),
        ("brief", ["inspect", str(segments("classic-static")), "--json", "--brief"]),
        ("explain", ["explain", LOG, "slow", "--json"]),
        ("explain", ["explain", LOG, "slow", "--epoch", "4", "--json"]),
        ("state", ["state", LOG]),
        ("state", ["state", str(segments("classic-static"))]),
        ("error", ["inspect", "nowhere", "--json"]),
    ],
)
def test_output_is_as_its_schema_says(name: str, arguments: Sequence[str]) -> None:
    """Every key and type, of groups of both kinds."""
    checked(name, json.loads(call(*arguments).out))


def test_so_is_what_a_webhook_gets(tmp_path: Path) -> None:
    """The body in JSON."""
    (tmp_path / "sent.json").write_text(json.dumps({"format": 1, "went_on": {}}))
    where = ("--url", "http://127.0.0.1:9/", "--sent", str(tmp_path / "sent.json"))
    outcome = call("notify", LOG, *where, "--severity", "info", "--dry-run", "--json")
    bodies = json.loads(outcome.out)["bodies"]
    assert bodies
    for body in bodies:
        checked("finding", body)


def test_so_are_summaries(tmp_path: Path) -> None:
    """Of commands that write files or send findings; those that need Spark are held to it where Spark runs."""
    out = tmp_path / "out"
    sent = ("--url", "http://127.0.0.1:9/", "--sent", tmp_path / "sent.json", "--dry-run")
    commands: tuple[tuple[str | Path, ...], ...] = (
        ("report", "--out", out),
        ("report", "--png", "slow", "--out", out),
        ("export", "--sqlite", out),
        ("notify", *sent),
    )
    for name, *arguments in commands:
        checked(str(name), json.loads(call(name, LOG, *arguments, "--json").out))


def test_so_is_every_line_of_decode(tmp_path: Path) -> None:
    """Records, tombstones, transaction markers, and bytes that are damaged."""
    shutil.copytree(segments("offsets"), tmp_path / "log")
    file = max(
        (tmp_path / "log").rglob("__consumer_offsets-*/*.log"), key=lambda log: log.stat().st_size
    )
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    lines = [json.loads(line) for line in call("decode", tmp_path / "log").out.splitlines()]
    for line in lines:
        checked("decode", line)
    for wanted in ("control", "error", "key"):
        assert any(wanted in line for line in lines)
    assert any(line.get("value", 0) is None for line in lines)


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("error", {"schema_version": 2, "error": {"kind": "", "exit_code": 3, "message": ""}}),
        ("state", {"schema_version": 1, "at": None, "groups": [{"group_id": "g"}]}),
        ("inspect", {"schema_version": 2, "epochs": []}),
        ("inspect", {"epochs": [{"cluster": "default", "epoch": "17"}]}),
    ],
)
def test_a_schema_refuses_what_is_not_so(name: str, document: dict[str, Any]) -> None:
    """Another version, a missing key, a text for a number."""
    with pytest.raises(jsonschema.ValidationError):
        checked(name, document)


def checked_summary(name: str, summary: Mapping[str, Any]) -> None:
    """What a command hands out, once it is JSON. Raises ValidationError."""
    checked(name, orjson.loads(orjson.dumps({"schema_version": JSON_VERSION, **summary})))


def checked(name: str, document: dict[str, Any]) -> None:
    """Raises ValidationError."""
    JUDGES[name].validate(document)
