"""Writes the classes of records from `schemas/records`.

    python -m workshop.codegen --write    write the files
    python -m workshop.codegen --check    exit with 1 if one of them is stale

The file is checked in: the type checker, the editor and a reader see plain classes. What decodes and shows them is made
at run time (`wire.decoders`, `wire.json_shape`).
"""

import sys
from pathlib import Path
from typing import Final

from rebalance_audit.resources import checkout_root
from rebalance_audit.wire.schema import record_schemas
from workshop import generated_files
from workshop.codegen.messages import source

FILE: Final = "src/rebalance_audit/wire/generated/messages.py"


def due() -> dict[Path, str]:
    """The module in its place."""
    return {checkout_root() / FILE: source(record_schemas())}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
