import pytest


@pytest.fixture(autouse=True)
def no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output as a file gets it: readline, which pytest loads, hands COLUMNS down to parallel workers."""
    monkeypatch.delenv("COLUMNS", raising=False)
