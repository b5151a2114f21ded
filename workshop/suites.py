"""schemas/suites: the suites for Great Expectations, from `schemas/tables`.

python -m workshop.suites --write    write the files
python -m workshop.suites --check    exit with 1 if one of them is stale
"""

import json
import sys
from pathlib import Path

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.tables.suites import FOLDER, suite_of
from workshop import generated_files


def due() -> dict[Path, str]:
    """Path -> text of every suite."""
    folder = checkout_root() / FOLDER
    return {
        folder / f"{name}.json": json.dumps(suite_of(schema), indent=2, ensure_ascii=False) + "\n"
        for name, schema in table_schemas().items()
    }


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
