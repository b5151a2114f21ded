from dataclasses import fields

from rebalance_audit.audit.findings.kinds import KINDS
from rebalance_audit.audit.thresholds import FindingRules
from rebalance_audit.config import load_config
from rebalance_audit.tables.schemas import value_lists


def test_the_closed_list_of_the_tables_is_that_of_the_kinds() -> None:
    """The check on gold.findings.kind knows every kind, each once."""
    names = [kind.kind for kind in KINDS]
    assert len(set(names)) == len(names)
    assert set(value_lists()["finding"]) == set(names)


def test_the_configuration_has_every_threshold_with_its_default() -> None:
    """conf/base.toml and the defaults of the rules agree, and every threshold is used by a definition or explained."""
    assert load_config().findings.finding_rules() == FindingRules()
    unused = {
        field.name
        for field in fields(FindingRules)
        if not any(f"{{{field.name}}}" in kind.definition for kind in KINDS)
    }
    assert unused == {"assumed_session_timeout_ms", "repeat_pause_ms"}
