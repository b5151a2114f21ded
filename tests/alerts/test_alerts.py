"""What Prometheus' own tool says of rules and metrics."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from rebalance_audit.readers.metrics import metrics_text
from rebalance_audit.resources import checkout_root
from tests.cli.audited import audited_once
from tests.cli.call import segments

ROOT: Final = checkout_root()
RULES: Final = ROOT / "conf" / "alerts" / "rebalance-audit.yml"


def promtool(*arguments: str | Path, given: bytes | None = None) -> str:
    """Its output; it must be content."""
    found = shutil.which("promtool") or str(ROOT / ".promtool" / "usr" / "bin" / "promtool")
    checked = subprocess.run(
        [found, *map(str, arguments)], input=given, capture_output=True, check=False
    )
    output = (checked.stdout + checked.stderr).decode()
    assert checked.returncode == 0, output
    return output


def test_the_rules_are_rules() -> None:
    """Names, expressions and templates."""
    assert "13 rules found" in promtool("check", "rules", RULES)


def test_the_rules_fire_when_they_should() -> None:
    """And only then."""
    assert "SUCCESS" in promtool(
        "test", "rules", Path(__file__).parent / "rebalance-audit_test.yml"
    )


@pytest.mark.parametrize("capture", ["consumer-protocol", "classic-static", "share-streams"])
def test_metrics_are_what_a_node_exporter_reads(capture: str) -> None:
    """Its text files have the older format; what is written is both."""
    assert (
        promtool("check", "metrics", given=metrics_text(audited_once(segments(capture)), 100)) == ""
    )


def test_the_rules_ask_for_metrics_that_there_are() -> None:
    """A name that no exporter writes would never fire."""
    source = (ROOT / "src/rebalance_audit/readers/metric_queries.py").read_text(encoding="utf-8")
    asked = set(re.findall(r"rebalance_audit_([a-z_]+)", RULES.read_text(encoding="utf-8")))
    assert len(asked) >= 6
    assert [name for name in sorted(asked) if f'"{name}"' not in source] == []
