import pytest


@pytest.fixture(autouse=True)
def no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output as to a file: readline, which pytest loads, passes COLUMNS on to parallel workers."""
    monkeypatch.delenv("COLUMNS", raising=False)
