"""A trace is read back by Perfetto's own classes and compared with the rows of the audit."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from deltalake import DeltaTable, write_deltalake
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from rebalance_audit.local.audit import Audit
from rebalance_audit.readers.gold import log_end_ms
from rebalance_audit.readers.lake_reader import open_lake
from rebalance_audit.readers.perfetto_trace import export_perfetto
from rebalance_audit.visible import visible
from tests.cli.audited import audited_once
from tests.cli.call import call, segments
from tests.support.lake_without_spark import empty_gold, write_lake

CAPTURES: Final = ("classic-cooperative", "consumer-protocol", "share-streams", "oddities")


class Shown(NamedTuple):
    """An event as a viewer would show it."""

    track: tuple[str, ...]
    """Names from the group down."""
    category: str
    name: str
    from_ns: int
    to_ns: int | None
    facts: dict[str, Any]
    flows_out: tuple[int, ...]
    flows_in: tuple[int, ...]


def shown(file: Path) -> list[Shown]:
    """All events. Fails where slices of a track overlap without nesting, or time goes backwards on a track."""
    trace = Trace.FromString(file.read_bytes())
    names: dict[int, tuple[str, ...]] = {}
    open_on: dict[int, list[int]] = defaultdict(list)
    latest: dict[int, int] = {}
    events: list[Shown] = []
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            names[track.uuid] = (*names.get(track.parent_uuid, ()), track.name)
        if not packet.HasField("track_event"):
            continue
        event, uuid = packet.track_event, packet.track_event.track_uuid
        assert packet.timestamp >= latest.get(uuid, 0)
        latest[uuid] = packet.timestamp
        if event.type == TrackEvent.TYPE_SLICE_END:
            place = open_on[uuid].pop()
            events[place] = events[place]._replace(to_ns=packet.timestamp)
            continue
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            open_on[uuid].append(len(events))
        facts = {
            each.name: getattr(each, each.WhichOneof("value")) for each in event.debug_annotations
        }
        (category,) = event.categories
        flows = tuple(event.flow_ids), tuple(event.terminating_flow_ids)
        events.append(
            Shown(names[uuid], category, event.name, packet.timestamp, None, facts, *flows)
        )
    assert not any(open_on.values())
    return events


def exported(audit: Audit, folder: Path) -> list[Shown]:
    """The audit's trace, read back."""
    file = folder / "trace.pftrace"
    export_perfetto(audit, file, lambda _cluster: audit.facts.last_ms)
    return shown(file)


def ms(moment_ns: int | None) -> int | None:
    """Milliseconds."""
    return None if moment_ns is None else moment_ns // 1_000_000


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_trace_has_the_rows_of_the_audit(capture: str, tmp_path: Path) -> None:
    """Rebalances, epochs, causes, members and owners: each row once, at its time."""
    audit = audited_once(segments(capture))
    tables, end_ms = audit.tables, audit.facts.last_ms
    events = exported(audit, tmp_path)
    by_category: dict[str, list[Shown]] = defaultdict(list)
    for event in events:
        by_category[event.category].append(event)

    assert Counter(
        (event.track[0], event.facts["rebalance_seq"], ms(event.to_ns), event.facts["outcome"])
        for event in by_category["rebalance"]
    ) == Counter(
        (visible(row["group_id"]), row["rebalance_seq"], row["ended_at"] or end_ms, row["outcome"])
        for row in tables["rebalances"]
        if row["started_at"] is not None or row["duration_ms"] is not None
    )
    for event in by_category["rebalance"]:
        estimate_ms = event.facts.get("duration_estimate_ms")
        if estimate_ms is not None:
            assert event.to_ns is not None
            assert event.to_ns - event.from_ns == estimate_ms * 1_000_000

    assert Counter((e.track[0], e.facts["first_offset"]) for e in by_category["epoch"]) == Counter(
        (visible(row["group_id"]), row["first_offset"])
        for row in tables["epochs"]
        if row["started_at"] is not None or row["converged_at"] is not None
    )
    assert Counter(
        (e.track[0], ms(e.from_ns), e.facts["epoch"], e.facts["certainty"])
        for e in by_category["cause"]
    ) == Counter(
        (visible(row["group_id"]), row["at"], row["epoch"], row["certainty"])
        for row in tables["rebalance_causes"]
        if row["at"] is not None
    )
    assert Counter(
        (e.track[0], e.facts["member_id"], ms(e.from_ns), ms(e.to_ns))
        for e in by_category["member"]
    ) == Counter(
        (
            visible(row["group_id"]),
            visible(row["member_id"]),
            row["first_seen_at"],
            row["left_at"] or end_ms,
        )
        for row in tables["members"]
        if row["first_seen_at"] is not None
    )
    # A stretch of a classic owner is split where the member may have given the partition up.
    spans: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for e in by_category["owner"]:
        moments = spans[e.track[0], e.track[-1], e.facts["member_id"], e.facts["from_offset"]]
        moments += [e.from_ns // 1_000_000, (e.to_ns or 0) // 1_000_000]
    found = {key: (min(moments), max(moments)) for key, moments in spans.items()}
    assert found == {
        (
            visible(row["group_id"]),
            f"{row['topic'] or row['topic_id'] or '–'}-{row['topic_partition']}",
            visible(row["member_id"]),
            row["from_offset"],
        ): (row["from_at"], row["to_at"] or end_ms)
        for row in tables["ownership"]
        if row["from_at"] is not None and row["from_at"] < (row["to_at"] or end_ms)
    }


@pytest.mark.parametrize("capture", CAPTURES)
def test_flows_lead_from_cause_to_effect(capture: str, tmp_path: Path) -> None:
    """From each cause to its epoch, and from an epoch to the new owner of each partition that moved; never back."""
    audit = audited_once(segments(capture))
    events = exported(audit, tmp_path)
    begins = {flow: event for event in events for flow in event.flows_out}
    ends = {flow: event for event in events for flow in event.flows_in}
    assert len(begins) == sum(len(event.flows_out) for event in events)
    assert set(ends) <= set(begins)
    for flow, effect in ends.items():
        cause = begins[flow]
        assert cause.track[0] == effect.track[0]
        assert cause.from_ns <= effect.from_ns
        assert (cause.category, effect.category) in {("cause", "epoch"), ("epoch", "owner")}
        number = "epoch" if effect.category == "epoch" else "from_epoch"
        assert cause.facts["epoch"] == effect.facts[number]
    explained = [event for event in events if event.category == "epoch" and event.flows_in]
    assert len(explained) == len(
        {
            (visible(row["group_id"]), row["incarnation"], row["epoch"])
            for row in audit.tables["rebalance_causes"]
            if row["at"] is not None
        }
    )


def test_a_lake_of_two_clusters_keeps_their_groups_apart(tmp_path: Path) -> None:
    """A group id that both have is two tracks; `--group` and the summary work as they do for segments."""
    audit = audited_once(segments("consumer-protocol"))
    for cluster in ("blue", "green"):
        write_lake(tmp_path / cluster, {**empty_gold(), **audit.tables}, cluster)
    lake = tmp_path / "blue"
    for table in sorted((tmp_path / "green" / "gold").iterdir()):
        rows = DeltaTable(str(table)).to_pyarrow_table()
        write_deltalake(str(lake / "gold" / table.name), rows, mode="append")
    file = tmp_path / "trace.pftrace"
    rows = open_lake(lake)
    export_perfetto(rows, file, lambda cluster: log_end_ms(rows.path, cluster), ["slow"])
    assert {event.track[0] for event in shown(file)} == {"blue: slow", "green: slow"}


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    """One group of a log; an unknown group and a group with another format are errors."""
    file, log = tmp_path / "slow.pftrace", str(segments("consumer-protocol"))
    wrote = call("export", log, "--perfetto", str(file), "--group", "slow", "--json")
    summary = json.loads(wrote.out)
    assert summary["format"] == "perfetto"
    events = shown(file)
    assert summary["trace"]["events"] == len(events) > 0
    assert {event.track[0] for event in events} == {"slow"}
    assert (
        "did you mean 'slow'?" in call("export", log, "--perfetto", str(file), "--group", "slo").err
    )
    assert (
        "--group goes with --perfetto"
        in call("export", log, "--csv", str(tmp_path / "csv"), "--group", "slow").err
    )


def test_names_and_times_that_a_client_chose_make_a_valid_trace(tmp_path: Path) -> None:
    """Invisible characters are escapes, long names are cut, and a time beyond the viewer's clock is its end."""
    audit = audited_once(segments("consumer-protocol"))
    tables = {**empty_gold(), **audit.tables}
    year_9000_ms = 221_845_392_000_000
    tables["members"] = [
        {**row, "client_id": "\u202e" + "x" * 5000, "left_at": year_9000_ms}
        for row in tables["members"]
    ]
    write_lake(tmp_path / "lake", tables, "blue")
    file = tmp_path / "trace.pftrace"
    export_perfetto(open_lake(tmp_path / "lake"), file, lambda _cluster: None)
    stays = [event for event in shown(file) if event.category == "member"]
    assert stays
    for event in stays:
        assert event.track[-1].startswith("\\u202exxx")
        assert len(event.track[-1]) <= 600
        assert event.to_ns is not None
        assert event.from_ns < event.to_ns < 2**63
