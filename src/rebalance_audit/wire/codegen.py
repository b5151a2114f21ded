"""Writes the generated modules of this package from `schemas/records`.

    python -m rebalance_audit.wire.codegen --write    write them
    python -m rebalance_audit.wire.codegen --check    exit 1 if a file is stale

The files are checked in: the type checker, the editor and a reader see plain code, and nothing is
generated at run time.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rebalance_audit import generated_files
from rebalance_audit.wire import codegen_compiled, codegen_json, codegen_messages
from rebalance_audit.wire.schema import Catalogue, record_schemas

GENERATORS: Final[Mapping[str, Callable[[Catalogue], str]]] = {
    "messages.py": codegen_messages.source,
    "compiled.py": codegen_compiled.source,
    "json_fields.py": codegen_json.source,
}


def due() -> dict[Path, str]:
    """The modules in their places."""
    schemas = record_schemas()
    return {
        Path(__file__).with_name(name): generate(schemas) for name, generate in GENERATORS.items()
    }


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
