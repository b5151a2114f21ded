"""Writes the generated modules of `wire` from `schemas/records`.

    python -m tools.codegen --write    write the files
    python -m tools.codegen --check    exit with 1 if one of them is stale

The files are checked in: the type checker, the editor and a reader see plain code, and nothing is
generated at run time.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rebalance_audit.resources import checkout_root
from rebalance_audit.wire.schema import Catalogue, record_schemas
from tools import generated_files
from tools.codegen import compiled as codegen_compiled
from tools.codegen import json_fields as codegen_json
from tools.codegen import messages as codegen_messages

FOLDER: Final = "src/rebalance_audit/wire/generated"

GENERATORS: Final[Mapping[str, Callable[[Catalogue], str]]] = {
    "messages.py": codegen_messages.source,
    "compiled.py": codegen_compiled.source,
    "json_fields.py": codegen_json.source,
}


def due() -> dict[Path, str]:
    """The modules in their places."""
    schemas = record_schemas()
    folder = checkout_root() / FOLDER
    return {folder / name: generate(schemas) for name, generate in GENERATORS.items()}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
