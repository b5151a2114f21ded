"""Findings as `inspect` shows them."""

import pytest

from tests.cli.call import call, segments


def test_the_overview_names_findings_by_severity() -> None:
    """The most severe first, with group, time and one sentence; advice in the verdict alone, and no evidence yet."""
    text = call("inspect", segments("classic-static")).out
    assert "Findings: 1 critical" in text
    assert "critical  static subscription ignored  fleet  09:07:04.461 to 09:07:12.476" in text
    assert "Static member pod-1 returned with a subscription to payments as well" in text
    assert text.count("What to do") == 1


def test_a_group_in_detail_has_advice_and_the_records_that_show_it() -> None:
    """Members appear by name, evidence by partition and offset."""
    text = call("inspect", segments("consumer-protocol"), "--group", "slow").out
    assert "warning  slow revoker" in text
    assert "Member slow-0 was slow to revoke partitions once, for 10.0 s." in text
    assert "What to do: Find out what the member did then: a revocation callback" in text
    assert "slow-0 took long to revoke its partitions, 10.0 s" in text


def test_a_log_without_findings_has_no_such_section() -> None:
    """Nothing is printed where there is nothing."""
    assert "Findings" not in call("inspect", segments("broker-4.4")).out


def test_thresholds_come_from_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configured threshold removes the finding."""
    monkeypatch.setenv("REBALANCE_AUDIT_FINDINGS__SLOW_REVOKE_MS", "15000")
    text = call("inspect", segments("consumer-protocol"), "--group", "slow").out
    assert "slow revoker" not in text
