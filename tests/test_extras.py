"""What a missing extra tells to install."""

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
    ("recorded", "command"),
    [
        (f'{{"url": "file:///my%20wheels/{WHEEL}"}}', f"pip install '/my wheels/{WHEEL}[spark]'"),
        (
            f'{{"url": "https://example.org/{WHEEL}"}}',
            f"pip install 'rebalance-audit[spark] @ https://example.org/{WHEEL}'",
        ),
        (None, "pip install 'rebalance-audit[spark]'"),
    ],
    ids=["file", "URL", "index"],
)
def test_the_command_names_what_was_installed(
    recorded: str | None, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pip records the wheel and finds it again under that path; what came from an index is known by name."""
    if recorded is not None:
        (tmp_path / "direct_url.json").write_text(recorded)
    monkeypatch.setattr(extras, "checkout_root", no_checkout)
    monkeypatch.setattr("importlib.metadata.distribution", lambda _name: PathDistribution(tmp_path))
    assert extras.install_command("spark") == command


def test_a_checkout_is_named_by_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has a command that a shell takes apart as pip needs it."""
    monkeypatch.setattr(extras, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"^this needs pandas and matplotlib, .*`\.$") as error:
        extras.require_extra("notebook")
    command = shlex.split(str(error.value).split("`")[1])
    assert command == ["pip", "install", "-e", f"{checkout_root()}[notebook]"]
