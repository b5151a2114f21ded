"""The package's modules and who imports whom, read from the sources: lazy imports count like any other."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from rebalance_audit.resources import checkout_root

ROOT = checkout_root()
PACKAGE = ROOT / "src" / "rebalance_audit"


@cache
def module_paths() -> Mapping[str, Path]:
    """Dotted name -> file, of every module and package in src."""
    return {_name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def _name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_bytes())


@cache
def nodes_of(path: Path) -> Sequence[ast.AST]:
    """Every node of a file's syntax tree that a rule looks at."""
    return nodes_in(tree_of(path))


def nodes_in(tree: ast.AST) -> Sequence[ast.AST]:
    """The same of a tree."""
    kinds = (ast.Import, ast.ImportFrom, ast.Attribute, ast.Call)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def imports_of(path: Path) -> Iterator[str]:
    """The package's modules that a file imports, wherever in it. `from package import module` is the module."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in module_paths())
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in module_paths():
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in module_paths() else node.module


@cache
def import_graph() -> Mapping[str, frozenset[str]]:
    """Module -> the modules of the package that it imports."""
    return {name: frozenset(imports_of(path)) for name, path in module_paths().items()}
