"""Writes or checks dashboards/: `python -m tools.dashboards --write`."""

import sys
from pathlib import Path

from rebalance_audit.resources import checkout_root
from tools import generated_files
from tools.dashboards import grafana, superset


def due() -> dict[Path, str]:
    """Path -> text of every file."""
    root = checkout_root() / "dashboards"
    return {**superset.files(root / "superset"), **grafana.files(root / "grafana")}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
