"""Runs the commands of a recovery plan as an operator would: in bash, with Kafka's own tool on the path."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.support.broker import Broker
from tests.support.broker_folder import java

TOOL: Final = "kafka-consumer-groups.sh"
_MAIN_CLASS: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def run_plan_commands(broker: Broker, plan: Path, commands: Sequence[str]) -> str:
    """What the commands print in the plan's folder; the tool exits with 0 even where it prints an error."""
    tools = broker.folder / "tools"
    tools.mkdir(exist_ok=True)
    tool = tools / TOOL
    program = java(broker.folder, _MAIN_CLASS, jars=broker.jars)
    tool.write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n')
    tool.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "BOOTSTRAP": broker.bootstrap_servers,
        "LC_ALL": "C.UTF-8",
    }
    printed = ""
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=plan,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "Error" not in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
        printed += done.stdout
    return printed
