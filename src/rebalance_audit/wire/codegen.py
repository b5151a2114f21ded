"""Writes the generated modules of this package from `schemas/records`.

    python -m rebalance_audit.wire.codegen            write them
    python -m rebalance_audit.wire.codegen --check    exit 1 if a file is stale

The files are checked in: the type checker, the editor and a reader see plain code, and nothing is
generated at run time.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rebalance_audit.wire import codegen_compiled, codegen_json, codegen_messages
from rebalance_audit.wire.schema import Catalogue, record_schemas

GENERATORS: Final[Mapping[str, Callable[[Catalogue], str]]] = {
    "messages.py": codegen_messages.source,
    "compiled.py": codegen_compiled.source,
    "json_fields.py": codegen_json.source,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(
        description="Write the modules generated from schemas/records."
    )
    parser.add_argument("--check", action="store_true", help="only say whether the files are fresh")
    only_check = parser.parse_args(arguments).check
    stale = []
    for name, generate in GENERATORS.items():
        path = Path(__file__).with_name(name)
        text = generate(record_schemas())
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not only_check:
                path.write_text(text, encoding="utf-8")
    for name in stale:
        verdict = "stale: run python -m rebalance_audit.wire.codegen" if only_check else "written"
        sys.stdout.write(f"{name}: {verdict}\n")
    return 1 if only_check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
