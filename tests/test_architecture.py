"""Rules that hold for every source file and that no linter knows. Import contracts are in pyproject.toml."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from rebalance_audit.cli.main import COMMANDS
from tests.support.modules import (
    PACKAGE,
    ROOT,
    import_graph,
    imports_of,
    module_paths,
    nodes_in,
    nodes_of,
    tree_of,
)

CORE = ("wire", "replay", "coordinator", "audit", "sim")
GENERATED = {PACKAGE / "wire" / "generated" / "messages.py"}
LINES_MAX = 450

ENGINE = {"pyspark", "delta"}
FRAMES = {"pandas", "pyarrow", "numpy"}
COLUMNS = {"progress", "hours"}
"""The folders of the core's audit with NumPy."""
CLOCKS = {"time", "sched", "zoneinfo"}
CHANCE = {"secrets", "uuid"}
HIDDEN_INPUTS = {
    ("os", "environ"),
    ("os", "getenv"),
    ("os", "urandom"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
}

COMMAND_MODULES = "rebalance_audit.cli.commands."
ENTRY_POINTS = {
    "rebalance_audit",
    "rebalance_audit.cli.main",
    "rebalance_audit.agents.query_process",
    *(COMMAND_MODULES + name.replace("-", "_") for name in COMMANDS),
}
"""What is started or imported from outside, beside the jobs, and the tools that write pages from tables of the code."""


def sources(*folders: str) -> list[Path]:
    """Python files of the package's folders, all of the package's without one."""
    roots = [PACKAGE / folder for folder in folders] or [PACKAGE]
    return sorted(path for root in roots for path in root.rglob("*.py"))


def imported_modules(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Top-level names of the modules that a file imports, wherever in the file."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def last_name(node: ast.expr) -> str | None:
    """`c` of the expressions `c`, `b.c` and `a.b.c`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def hidden_inputs(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """What a file reads beside its arguments: clock, environment, unseeded chance."""
    for module in imported_modules(nodes):
        if module in CLOCKS | CHANCE:
            yield f"import {module}"
    for node in nodes:
        if isinstance(node, ast.Attribute):
            owner = last_name(node.value)
            if (owner, node.attr) in HIDDEN_INPUTS or (owner == "random" and node.attr != "Random"):
                yield f"{owner}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module in {"os", "random"}:
            names = {alias.name for alias in node.names} - {"Random", "PathLike", "fspath"}
            yield from (f"from {node.module} import {name}" for name in sorted(names))
        elif isinstance(node, ast.Call) and last_name(node.func) == "Random" and not node.args:
            yield "Random() without a seed"


def offences(paths: list[Path], found: dict[Path, list[str]]) -> list[str]:
    """One line per file that offends; the number of files shows that the rule was tried at all."""
    assert paths
    return [f"{path.relative_to(ROOT)}: {', '.join(found[path])}" for path in paths if found[path]]


def test_the_core_reads_no_clock_no_environment_and_no_unseeded_chance() -> None:
    """Same records, same rows: time, randomness and settings are arguments in wire, coordinator, audit and sim."""
    paths = sources(*CORE)
    assert offences(paths, {path: list(hidden_inputs(nodes_of(path))) for path in paths}) == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import time", ["import time"]),
        ("from time import monotonic", ["import time"]),
        ("import os\nos.environ['X']", ["os.environ"]),
        ("from os import environ", ["from os import environ"]),
        ("import random\nrandom.random()", ["random.random"]),
        ("import random\nrandom.Random()", ["Random() without a seed"]),
        ("from random import Random\nRandom(7)", []),
        ("from random import shuffle", ["from random import shuffle"]),
        ("import datetime\ndatetime.datetime.fromtimestamp(1)", []),
        ("from datetime import datetime\ndatetime.now()", ["datetime.now"]),
        ("import datetime\ndatetime.datetime.now()", ["datetime.now"]),
        ("import os\nos.stat('x')", []),
    ],
)
def test_the_rule_against_hidden_inputs_sees_them(code: str, expected: list[str]) -> None:
    """The check itself separates a hidden input from a harmless use of the same module."""
    assert list(hidden_inputs(nodes_in(ast.parse(code)))) == expected


def test_only_the_lake_imports_spark() -> None:
    """Spark and Delta are imported in lake/ and nowhere else, not even inside a function."""
    paths = [path for path in sources() if path.relative_to(PACKAGE).parts[0] != "lake"]
    found = {path: sorted(ENGINE & set(imported_modules(nodes_of(path)))) for path in paths}
    assert offences(paths, found) == []


def test_the_core_knows_no_data_frames() -> None:
    """The core is plain Python: no pandas, pyarrow or numpy, but for what takes offset commits as columns."""
    paths = [path for path in sources(*CORE) if path.parent.name not in COLUMNS]
    found = {path: sorted(FRAMES & set(imported_modules(nodes_of(path)))) for path in paths}
    assert offences(paths, found) == []


def changed_lives(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Assignments to an attribute of a `Life`, or of one of its parts: all code calls it `life` or `_life`."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            path = ast.unparse(node)
            if {"life", "_life"} & set(path.split(".")[:-1]):
                yield path
        elif isinstance(node, ast.Call) and last_name(node.func) in {"setattr", "delattr"}:
            yield ast.unparse(node)


def test_only_a_life_changes_itself() -> None:
    """What judges a group reads its life, and hands in what it decided; `snapshots` restores the state of all parts."""
    paths = [path for path in sources("audit") if path.parent.name != "snapshots"]
    assert offences(paths, {path: list(changed_lives(nodes_of(path))) for path in paths}) == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("life.gap = True", ["life.gap"]),
        ("life.left_since += 1", ["life.left_since"]),
        ("self._life.created_at: int = 1", ["self._life.created_at"]),
        ("scene.life.costs.on_settled, x = 1, 2", ["scene.life.costs.on_settled"]),
        ("del life.span", ["life.span"]),
        ("setattr(life, 'gap', True)", ["setattr(life, 'gap', True)"]),
        ("gap = life.gap", []),
        ("self._life = life", []),
        ("life.open_span(span)", []),
    ],
)
def test_the_rule_on_lives_sees_changes(code: str, expected: list[str]) -> None:
    """An assignment is a change; a call of the life's own methods is not."""
    assert list(changed_lives(nodes_in(ast.parse(code)))) == expected


def test_files_stay_short() -> None:
    """One noun per file; only generated files are longer."""
    paths = [
        path
        for path in (
            *sources(),
            *(ROOT / "tests").rglob("*.py"),
            *(ROOT / "workshop").rglob("*.py"),
            *(ROOT / "jobs").rglob("*.py"),
        )
        if path not in GENERATED
    ]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    found = {
        path: [f"{lines} lines"] if lines > LINES_MAX else [] for path, lines in lengths.items()
    }
    assert offences(paths, found) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not even by imports inside functions, which would only hide it."""
    graph = {name: set(imported) for name, imported in import_graph().items()}
    assert len(graph) > 300
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(reversed(circle.args[1])))


def test_no_module_is_there_for_tests_alone() -> None:
    """Each is imported, in some steps, by a command, job, tool or the public interface, or is a process of its own."""
    reached: set[str] = set()
    ahead = list(ENTRY_POINTS)
    for folder in ("jobs", "workshop"):
        for path in (ROOT / folder).rglob("*.py"):
            ahead += imports_of(path)
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += import_graph()[name]
            ahead += (
                [name.rpartition(".")[0]] if "." in name else []
            )  # Python runs the packages first
    assert sorted(module_paths().keys() - reached) == []


def public_names() -> Mapping[str, list[str]]:
    """Name of a public class, function or type alias -> the modules that define it."""
    found: dict[str, list[str]] = {}
    for module, path in module_paths().items():
        if path in GENERATED:
            continue
        for node in tree_of(path).body:
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                    pass
                case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                    pass
                case _:
                    continue
            if not name.startswith("_") and not module.startswith(COMMAND_MODULES):
                found.setdefault(name, []).append(module.removeprefix("rebalance_audit."))
    return found


def test_no_name_stands_for_two_things() -> None:
    """A reader who searches for a class or function finds one."""
    assert {name: modules for name, modules in public_names().items() if len(modules) > 1} == {}


HEAVY = ENGINE | FRAMES | {"pydantic", "py4j", "great_expectations"}
LOADED_ON_USE = HEAVY | {"cattrs", "deltalake", "duckdb", "jinja2", "kafka", "mcp", "numba"}


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("main", HEAVY),
        *(
            (f"commands.{name}", LOADED_ON_USE)
            for name in ("inspect", "explain", "report", "watch")
        ),
    ],
)
def test_commands_start_without_heavy_packages(module: str, heavy: set[str]) -> None:
    """They start in less than half a second because packages are imported where they are used."""
    code = f"import sys, rebalance_audit.cli.{module}; print([m for m in {sorted(heavy)} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
