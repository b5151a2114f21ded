"""Writes or checks dashboards/: `python -m workshop.dashboards --write`."""

import sys
from pathlib import Path

from rebalance_audit.resources import checkout_root
from workshop import generated_files
from workshop.dashboards import grafana, superset


def due() -> dict[Path, str]:
    """Path -> text of every file."""
    root = checkout_root() / "dashboards"
    return {**superset.files(root / "superset"), **grafana.files(root / "grafana")}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
