"""docs/notebook.ipynb runs from its first cell to its last, and shows what it promises."""

from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient

from rebalance_audit.demo_log import extract_to

NOTEBOOK: Final = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
SHOWS: Final = ("text/plain", "image/png", "text/html", "text/html", "image/png", "text/html")
"""The richest form of what each cell of code shows."""


def test_the_notebook_runs_on_the_log_of_the_demo(tmp_path: Path) -> None:
    """In a kernel of its own, beside a copy of the log; nothing but results is printed."""
    extract_to(tmp_path / "copy-of-log")
    notebook = nbformat.reads(NOTEBOOK.read_text(encoding="utf-8"), as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without results"
    # On a busy machine a kernel that was just installed takes longer to start than the minute it is given by default.
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, startup_timeout=300, resources=resources).execute()
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    for shown, form in zip(outputs, SHOWS, strict=True):
        (output,) = shown
        assert form in output.data
    ((worst,),) = [outputs[3]]
    assert "member_joined" in worst.data["text/plain"]
