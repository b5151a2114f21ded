"""The systemd units and the Containerfile: what they start exists, and with how few rights."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Final

import pytest

from rebalance_audit.cli import main
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.resources import checkout_root

DEPLOY: Final = checkout_root() / "deploy"
SERVICES: Final = sorted((DEPLOY / "systemd").glob("*.service"))
PROGRAM: Final = "/opt/rebalance-audit/bin/rebalance-audit"


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_the_command_of_a_unit_is_understood(service: Path, tmp_path: Path) -> None:
    """With the variables that systemd and the file of the environment set."""
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign] # names in systemd have capitals
    unit.read(service)
    variables = {"SOURCE": "kafka:b:9092", "LAKE": "/data", "STATE_DIRECTORY": str(tmp_path)}
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program == PROGRAM
    arguments = [re.sub(r"\$\{(\w+)\}", lambda found: variables[found[1]], word) for word in words]
    group = main.commands.make_context(main.PROGRAM, [*arguments], obj=Invocation())
    command = main.commands.get_command(group, arguments[0])
    assert command is not None
    command.make_context(arguments[0], arguments[1:], parent=group)
    assert unit["Service"]["DynamicUser"] == "yes"
    assert unit["Service"]["ProtectSystem"] == "strict"


def test_systemd_has_no_complaint(tmp_path: Path) -> None:
    """All units together, with a program that this machine has."""
    assert shutil.which("systemd-analyze"), "systemd is needed to check its units"
    for unit in (DEPLOY / "systemd").iterdir():
        (tmp_path / unit.name).write_text(unit.read_text().replace(PROGRAM, sys.executable))
    units = sorted(tmp_path.iterdir())
    done = subprocess.run(
        ["systemd-analyze", "verify", *units],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )
    said = [line for line in done.stderr.splitlines() if "rebalance-audit" in line]
    assert said == []


def test_images_run_without_rights_and_without_a_shell() -> None:
    """Both targets end with a user that is not root, and start the program itself."""
    stages = re.split(r"^FROM ", (DEPLOY / "Containerfile").read_text(), flags=re.MULTILINE)[1:]
    named = {stage.splitlines()[0].split(" AS ")[1]: stage for stage in stages}
    assert set(named) == {"build", "build-run", "watch", "run"}
    for name in ("watch", "run"):
        assert 'USER 10001:10001\nWORKDIR /data\nENTRYPOINT ["rebalance-audit"]' in named[name]
    assert "openjdk" not in named["watch"]


def test_what_the_build_copies_is_in_its_context() -> None:
    """And nothing else is sent to the builder."""
    allowed = {
        line[1:]
        for line in (checkout_root() / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = [
        word
        for line in re.findall(
            r"^COPY (?!--from)(.*)", (DEPLOY / "Containerfile").read_text(), re.MULTILINE
        )
        for word in line.split()[:-1]
    ]
    assert set(copied) == allowed
    assert [word for word in copied if not (checkout_root() / word).exists()] == []
