"""The hosted workflows: well-formed, pinned, and with the rights that each job needs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from rebalance_audit.resources import checkout_root

FOLDER = checkout_root() / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
TOOLS = f"{os.environ['PATH']}{os.pathsep}{checkout_root() / '.tools'}"


def test_actionlint_has_no_complaint() -> None:
    """Syntax, expressions, contexts and the shell of each step."""
    actionlint = shutil.which("actionlint", path=TOOLS)
    assert actionlint, "make test-release builds it"
    done = subprocess.run([actionlint, *FILES], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_actions_are_pinned_by_commit(file: Path) -> None:
    """A tag can be moved by whoever takes over the action; the comment says which release it is."""
    text = file.read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used
    pinned = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [each for each in used if not pinned.fullmatch(each)] == []
    assert "permissions:" in text.partition("jobs:")[0]


def test_a_release_stores_no_secret() -> None:
    """PyPI and the attestations trust the workflow's identity."""
    text = (FOLDER / "release.yml").read_text()
    assert "secrets." not in text
    assert text.count("id-token: write") == 2


@pytest.mark.parametrize(
    "form", sorted((FOLDER.parent / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda form: form.name
)
def test_issue_forms_can_be_filled_in(form: Path) -> None:
    """What GitHub needs of a form: a name, a description, and fields with ids of their own."""
    shape = yaml.safe_load(form.read_text())
    if form.name == "config.yml":
        assert shape == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "labels", "body"} == set(shape)
    fields = [field for field in shape["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields) > 0
    assert all(field["attributes"]["label"] for field in fields)
    assert {field["type"] for field in fields} <= {"input", "textarea", "dropdown", "checkboxes"}
