"""docs/broker-logs.md says what the table of wordings says."""

from rebalance_audit.report.broker_logs_page import PAGE, with_tables
from rebalance_audit.resources import checkout_root


def test_the_page_is_fresh() -> None:
    """Its tables are those of the code; `make codegen` writes them."""
    text = (checkout_root() / PAGE).read_text(encoding="utf-8")
    assert with_tables(text) == text
    assert "Bumped group epoch to {epoch} with metadata hash {metadata_hash}." in text
