import io
from pathlib import Path

from rich.console import Console

from rebalance_audit.demo_log import extract_to
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.layout import ConsoleReport
from rebalance_audit.report.terminal.overview import print_overview


def test_a_name_of_common_length_stays_whole_at_80_columns(tmp_path: Path) -> None:
    """Group ids are what people search for: none of the demo log is broken in the list of groups."""
    extract_to(tmp_path / "log")
    tables = audit_segments(tmp_path / "log").tables
    out = io.StringIO()
    print_overview(ConsoleReport(Console(file=out, width=80), tables), tables, Extent())
    listed = out.getvalue().partition("\nGroups\n")[2].partition("\nCauses\n")[0]
    names = {row["group_id"] for row in tables["group_states"]}
    assert max(map(len, names)) > 20
    assert names <= set(listed.split())
    assert max(map(len, out.getvalue().splitlines())) <= 80
