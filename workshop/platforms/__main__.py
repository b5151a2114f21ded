"""The smoke suite on every platform: the same commands on the same log, and the same tables everywhere.

    python -m workshop.platforms [--only NAME …]

Writes docs/platform-results.json; `make codegen` makes the page from it. Exit code 4 if a platform fails.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rebalance_audit.cli.exit_codes import CHECK_FAILED, DONE
from rebalance_audit.resources import checkout_root
from tests.spark.lakes import TABLES, difference, table
from tests.spark.mixed_log import PARTS, write_log
from workshop.platforms import servers
from workshop.platforms.environments import (
    FOLDER,
    EnvironmentNotMade,
    build_wheel,
    jars_of,
    make,
    python_of,
)
from workshop.platforms.platforms import PLATFORMS, REFERENCE, Platform

RESULTS: Final = "docs/platform-results.json"
SHARE: Final = 0.5
OF_LOG: Final = [part for part in PARTS if part.becomes in {1, 10, 22, 43}]
"""Transactions, an upgrade, damage, share groups."""
SETTINGS: Final = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
ENOUGH_SECONDS: Final = 3600
ESCAPES: Final = re.compile(r"\x1b\[[0-9;]*m")


def main(arguments: list[str] | None = None) -> int:
    """Run the suite, write the results and print them."""
    parser = argparse.ArgumentParser(
        prog="workshop.platforms", description=__doc__.split("\n", 1)[0]
    )
    names = [platform.name for platform in PLATFORMS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    only = parser.parse_args(arguments).only
    is_passed = True
    wheel = build_wheel()
    for platform in PLATFORMS:
        if platform.name in only:
            result = _result(platform, wheel)
            _keep(platform.name, result)
            sys.stdout.write(f"{platform.name}: {result['why']}\n")
            is_passed &= result["passed"]
    return DONE if is_passed else CHECK_FAILED


def _keep(name: str, result: dict[str, Any]) -> None:
    """Replace a platform's result in the file."""
    path = checkout_root() / RESULTS
    results = json.loads(path.read_text()) if path.is_file() else {}
    results[name] = result
    ordered = {each.name: results[each.name] for each in PLATFORMS if each.name in results}
    path.write_text(json.dumps(ordered, indent=2) + "\n")


def _result(platform: Platform, wheel: Path) -> dict[str, Any]:
    """What the page says of a platform."""
    found = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "what": platform.what,
        "spark": platform.environment.spark,
    }
    try:
        make(platform.environment, wheel)
        smoke, why = _smoke(platform)
    except (EnvironmentNotMade, TimeoutError) as error:
        return {**found, "passed": False, "why": " ".join(str(error).split())}
    return {**found, **smoke, "passed": why is None, "why": why or _passed(platform)}


def _passed(platform: Platform) -> str:
    lake = _tables(platform)
    rows = sum(len(table(lake, name)) for name in TABLES)
    role = "the reference" if platform == REFERENCE else "equal to the reference"
    return f"All steps; {len(TABLES)} tables with {rows} rows, {role}."


def _smoke(platform: Platform) -> tuple[dict[str, Any], str | None]:
    """Versions and times; what failed, in a sentence."""
    folder = FOLDER / "runs" / platform.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_log(folder / "half", SHARE, OF_LOG)
    write_log(folder / "whole", 1.0, OF_LOG)
    lake = "catalog:spark_catalog.smoke" if platform.reach == "catalog" else str(folder / "lake")
    log = "s3://smoke/kafka/log" if platform.reach == "s3" else str(folder / "log")
    with ExitStack() as running:
        master = "local[2]"
        store: dict[str, str] = {}
        if platform.reach == "standalone":
            master = running.enter_context(servers.standalone(platform.environment, folder))
        elif platform.reach == "connect":
            master = running.enter_context(servers.connect(platform.environment, folder))
        elif platform.reach == "s3":
            store = running.enter_context(servers.object_store(platform.environment, folder))
        (folder / "config.toml").write_text(_configuration(platform, master))
        python = python_of(platform.environment)
        variables = {
            **os.environ,
            **store,
            "PYSPARK_PYTHON": str(python),
            "PYTHONPATH": str(checkout_root()),
        }
        with (folder / "smoke.log").open("w") as said:
            done = subprocess.run(
                [str(python), "-m", "workshop.platforms.smoke", str(folder), log, lake],
                cwd=folder,
                env=variables,
                stdout=said,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=ENOUGH_SECONDS,
            )
    written = folder / "result.json"
    smoke = json.loads(written.read_text()) if written.is_file() else {}
    failed = smoke.pop("failed", None)
    if done.returncode:
        last = ESCAPES.sub("", (folder / "smoke.log").read_text()).strip().splitlines()[-1:]
        return (
            smoke,
            f"{failed or f'The process ended with {done.returncode}'}: {''.join(last)[:300]}",
        )
    return smoke, _unequal(_tables(platform))


def _tables(platform: Platform) -> Path:
    """The folder of a platform's tables, a folder for each layer in it."""
    folder = FOLDER / "runs" / platform.name
    if platform.reach != "catalog":
        return folder / "lake"
    layers = folder / "layers"
    if layers.is_dir():
        return layers
    layers.mkdir()
    for layer in ("bronze", "silver", "gold"):
        (layers / layer).symlink_to(folder / "spark-warehouse" / f"smoke_{layer}.db")
    return layers


def _unequal(lake: Path) -> str | None:
    """Which tables differ from the reference's; None if none does."""
    expected = _tables(REFERENCE)
    if not expected.is_dir():
        return f"No tables to compare with: run {REFERENCE.name} first."
    unequal = [name for name in TABLES if difference(name, lake, expected)]
    return f"Other rows than the reference: {', '.join(unequal)}." if unequal else None


def _configuration(platform: Platform, master: str) -> str:
    settings = SETTINGS if platform.reach != "connect" else {"spark.sql.shuffle.partitions": "2"}
    # What a text is in JSON it is in TOML.
    lines = [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in settings.items()]
    return "\n".join(
        [
            '[lake]\nwriter = "spark"',
            f"[spark]\nmaster = {json.dumps(master)}",
            f"jars_folder = {json.dumps(str(jars_of(platform.environment)))}",
            *("[spark.settings]", *lines, ""),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
