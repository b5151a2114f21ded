"""What a command asks to install when it lacks an extra."""

import json
import shlex
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from rebalance_audit import extras
from rebalance_audit.errors import MissingExtra
from rebalance_audit.resources import checkout_root

WHEEL = "rebalance_audit-1.0-py3-none-any.whl"


def no_checkout() -> Path:
    """As in site-packages."""
    raise FileNotFoundError("no source checkout")


@pytest.mark.parametrize(
    ("recorded", "installer", "prefix", "command"),
    [
        (f"file:///my%20wheels/{WHEEL}", "pip", "venv", f"pip install '/my wheels/{WHEEL}[spark]'"),
        (
            f"https://example.org/{WHEEL}",
            "pip",
            "venv",
            f"pip install 'rebalance-audit[spark] @ https://example.org/{WHEEL}'",
        ),
        (None, None, "venv", "pip install 'rebalance-audit[spark]'"),
        (None, "uv", "venv", "uv pip install --python PLACE/venv 'rebalance-audit[spark]'"),
        (None, "uv", "cache/a/b", "uvx --from 'rebalance-audit[spark]' rebalance-audit"),
        ("file:///here", "uv", "cache/a/b", "uvx --from '/here[spark]' rebalance-audit"),
    ],
    ids=["file", "URL", "index", "uv", "uvx", "uvx from a folder"],
)
def test_the_command_names_what_was_installed(
    recorded: str | None,
    installer: str | None,
    prefix: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An installer records itself and the wheel; what came from an index is known by name. uvx runs in uv's cache."""
    if recorded is not None:
        (tmp_path / "direct_url.json").write_text(json.dumps({"url": recorded}))
    if installer is not None:
        (tmp_path / "INSTALLER").write_text(f"{installer}\n")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "CACHEDIR.TAG").touch()
    monkeypatch.setattr(extras, "checkout_root", no_checkout)
    monkeypatch.setattr("importlib.metadata.distribution", lambda _name: PathDistribution(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path / prefix))
    assert extras.install_command("spark") == command.replace("PLACE", str(tmp_path))


def test_a_checkout_is_named_by_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has a command that a shell takes apart as pip, or uv, needs it."""
    monkeypatch.setattr(extras, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"^this needs pandas and matplotlib, .*`\.$") as error:
        extras.require_extra("notebook")
    command = shlex.split(str(error.value).split("`")[1])
    assert "install" in command
    assert command[-2:] == ["-e", f"{checkout_root()}[notebook]"]
