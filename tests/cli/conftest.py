import pytest

from tests.cli.audited import audited_once


@pytest.fixture(autouse=True)
def no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output as to a file: readline, which pytest loads, passes COLUMNS on to parallel workers."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def shared_audits(monkeypatch: pytest.MonkeyPatch) -> None:
    """`inspect` shows one log in many ways: it is audited once for each choice of groups."""
    monkeypatch.setattr("rebalance_audit.local.audit.audit_segments", audited_once)
