"""The audit of a folder from Python."""

import json
import shutil
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

import rebalance_audit as ra
from rebalance_audit.audit.rows import GOLD_OF_LOG
from rebalance_audit.local.audit import AuditRows
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.rows import ROWS_SHOWN
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.wire.segments.folder import SourceNotReadable
from tests.cli.call import call, segments

LOG = segments("failover")
REPORTED = Path(__file__).parents[1] / "golden" / "reported"


@pytest.fixture(scope="module")
def audit() -> ra.Audit:
    """A real log with three groups."""
    return ra.audit_segments(LOG, cluster="blue")


def rows_of(audit: ra.Audit) -> dict[str, ra.Rows]:
    """Every table of an audit by its name without the layer."""
    return {name: audit.table(f"gold.{name}") for name in GOLD_OF_LOG}


def test_the_same_rows_as_inspect_prints(audit: ra.Audit) -> None:
    """Row for row and column for column; there times are text."""
    printed = json.loads(call("inspect", LOG, "--json", "--cluster", "blue").out)
    for name, rows in rows_of(audit).items():
        as_text = [json.loads(json.dumps(row, default=in_iso)) for row in rows]
        assert as_text == printed[name], name


def in_iso(moment: datetime) -> str:
    """A time as `inspect --json` prints it."""
    assert moment.utcoffset() == timedelta(0)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_histories_of_a_group_in_two_partitions_are_not_mixed(tmp_path: Path) -> None:
    """Kafka knows only one partition for a group: partitions were added to the topic."""
    log = shutil.copytree(LOG, tmp_path / "log")
    shutil.copytree(log / "__consumer_offsets-2", log / "__consumer_offsets-50")
    other = REPORTED / "pending-member-new" / "segments" / "__consumer_offsets-0"
    shutil.copytree(other, log / "__consumer_offsets-7")
    whole, both = ra.audit_segments(LOG), ra.audit_segments(log)
    split = set(whole.group_ids) - set(both.group_ids)
    assert split
    assert both.group_ids - whole.group_ids == {"g"}
    for group_id in split:
        found = [note for note in both.facts.notes if f"Group {group_id} has records in" in note]
        assert len(found) == 1
        assert "in partitions 2 and 50 of __consumer_offsets" in found[0]
        with pytest.raises(SourceNotReadable, match="in partitions 2 and 50"):
            ra.audit_segments(log, groups=[group_id])
    warned = call("inspect", log, "--json").err
    assert all(f"Warning: Group {group_id} has records in" in warned for group_id in split)
    for name, rows in both.tables.items():
        assert not {row["group_id"] for row in rows if "group_id" in row} & split
        expected = [row for row in whole.tables[name] if row.get("group_id") not in split]
        assert [row for row in rows if row.get("group_id") != "g"] == expected


def test_tables_have_names(audit: ra.Audit) -> None:
    """The ten tables are attributes, and `table` knows no other."""
    names = (
        *("epochs", "causes", "rebalances", "convergence", "members", "ownership"),
        *("group_states", "findings", "group_hours", "topics"),
    )
    by_name = [getattr(audit, name) for name in names]
    assert {rows.schema.name for rows in by_name} == set(GOLD_OF_LOG)
    with pytest.raises(ra.BadRequest, match="the audit of a log does not fill it"):
        audit.table("silver.offset_commits")
    with pytest.raises(ra.BadRequest, match=r"There is no table 'gold\.nothing'"):
        audit.table("gold.nothing")


def test_rows_are_a_sequence(audit: ra.Audit) -> None:
    """Positions from both ends, slices, and an IndexError beyond."""
    epochs = audit.epochs
    everything = list(epochs)
    assert len(epochs) == len(everything) > 3
    assert (epochs[0], epochs[-1], epochs[1:3]) == (everything[0], everything[-1], everything[1:3])
    assert everything[2] in epochs
    with pytest.raises(IndexError):
        epochs[len(epochs)]


def test_arrow_tables_have_the_types_of_the_contract(audit: ra.Audit) -> None:
    """The values of the rows; without a row the types all the same."""
    for name, rows in rows_of(audit).items():
        table = rows.to_arrow()
        assert table.schema == arrow_schema(table_schemas()[f"gold.{name}"])
        assert table.to_pylist() == list(rows)
    nothing = audit.epochs.where(["missing"]).to_arrow()
    assert nothing.schema == audit.epochs.to_arrow().schema
    assert (len(nothing), nothing.schema.field("started_at").type) == (
        0,
        pa.timestamp("us", tz="UTC"),
    )


def test_data_frames_keep_integers_and_times(audit: ra.Audit) -> None:
    """Also in a column with nulls, where NumPy has no integers."""
    frame = audit.epochs.to_pandas()
    assert frame["previous_epoch"].isna().any()
    types = frame.dtypes.astype(str)
    assert (types["previous_epoch"], types["started_at"]) == ("Int64", "datetime64[us, UTC]")
    assert [*frame["epoch"]] == [row["epoch"] for row in audit.epochs]


def test_a_missing_package_is_named_with_its_extra(
    audit: ra.Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an ImportError; rows themselves need no extra."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ra.MissingExtra, match=r"pandas.*`.*pip install .*\[notebook\]'?`"):
        audit.epochs.to_pandas()
    assert audit.epochs[0]["cluster"] == "blue"


def test_a_window_takes_rows_that_begin_in_it(audit: ra.Audit) -> None:
    """From its start on and before its end: neighbouring windows share no row and lose none that has a time."""
    states = audit.group_states
    moments = sorted({row["from_at"] for row in states})
    bounds = [None, moments[2], moments[5], None]
    parts = [[*states.where(start=start, end=end)] for start, end in pairwise(bounds)]
    assert min(map(len, parts)) > 0
    assert sum(map(len, parts)) == len(states)
    assert min(row["from_at"] for row in parts[1]) == moments[2]
    as_text = states.where(start=moments[2].isoformat(), end=moments[5].isoformat())
    in_ms = states.where(
        start=round(moments[2].timestamp() * 1000), end=round(moments[5].timestamp() * 1000)
    )
    naive = states.where(start=moments[2].replace(tzinfo=None), end=moments[5])
    assert parts[1] == [*as_text] == [*in_ms] == [*naive]


def test_groups_stay_separate(audit: ra.Audit) -> None:
    """By their ids; what a table cannot be limited by is refused."""
    for group_id in audit.group_ids:
        found = audit.epochs.where([group_id])
        assert {row["group_id"] for row in found} == {group_id}
        assert [*found] == [row for row in audit.epochs if row["group_id"] == group_id]
    with pytest.raises(ra.BadRequest, match=r"gold\.topics has no column group_id"):
        audit.topics.where(["neu"])
    with pytest.raises(ra.BadRequest, match=r"Rows of gold\.topics have no time"):
        audit.topics.where(start="-2h")
    with pytest.raises(ra.BadRequest, match="'yesterday' is not a time"):
        audit.epochs.where(start="yesterday")


def test_only_some_groups_are_audited(audit: ra.Audit) -> None:
    """Their rows are those of the whole audit; an unknown one is refused with those that exist."""
    some = ra.audit_segments(LOG, ["klassik"], cluster="blue")
    assert some.group_ids == {"klassik"}
    assert [*some.epochs] == [*audit.epochs.where(["klassik"])]
    with pytest.raises(ra.UnknownGroup, match="did you mean 'klassik'") as error:
        ra.audit_segments(LOG, ["klassiker"])
    assert error.value.group_id == "klassiker"
    assert frozenset(error.value.known) == audit.group_ids


def test_rules_and_logs_are_those_of_the_command_line() -> None:
    """What a broker logged settles how members went; a wrong zone is refused."""
    log = segments("consumer-static")
    server_log = log.parent / "server.log.gz"
    alone, with_log = (ra.audit_segments(log, (), logs).members for logs in ([], [server_log]))
    assert "probable" in {row["left_certainty"] for row in alone}
    assert "probable" not in {row["left_certainty"] for row in with_log}
    with pytest.raises(ra.UnknownTimeZone, match="'Mars' is not a time zone"):
        ra.audit_segments(log, (), [server_log], broker_log_time_zone="Mars")
    loud = ra.FindingRules(storm_epochs=2)
    kinds = {row["kind"] for row in ra.audit_segments(log, finding_rules=loud).findings}
    assert "rebalance_storm" in kinds


def test_the_state_at_a_moment(audit: ra.Audit) -> None:
    """As `state` prints it: at the end, at a moment, of one group."""
    printed = json.loads(call("state", LOG).out)
    assert json.loads(json.dumps(audit.state().groups)) == printed["groups"]
    moment = datetime(2026, 11, 21, 9, 8, 40, tzinfo=UTC)
    early = audit.state(at=moment, groups=["klassik"])
    printed = json.loads(call("state", LOG, "--group", "klassik", "--at", moment.isoformat()).out)
    assert json.loads(json.dumps(early.groups)) == printed["groups"]
    with pytest.raises(ra.UnknownGroup):
        audit.state(groups=["missing"])


def test_a_notebook_shows_the_first_rows(audit: ra.Audit) -> None:
    """Never more, however many there are, and nothing of a log as markup."""
    html = audit.ownership._repr_html_()
    assert len(audit.ownership) > ROWS_SHOWN
    assert html.count("<tr>") == ROWS_SHOWN + 1
    assert f"{len(audit.ownership)} rows of gold.ownership, the first {ROWS_SHOWN}" in html
    assert len(audit.epochs._repr_html_()) < 100_000
    assert repr(audit).startswith(f"<audit of {LOG}: {len(audit.epochs)} epochs, ")


def test_what_a_group_is_called_is_no_markup() -> None:
    """A group id may be any text."""
    schema = table_schemas()["gold.topics"]
    row = {"topic_id": "<script>alert(1)</script>", "topic": "a&b" * 100, "made_at": None}
    html = AuditRows(schema, [row], '"><b>')._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html
    assert "a&amp;b…" not in html
    assert "…" in html
