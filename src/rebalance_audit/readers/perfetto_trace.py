"""The timeline of groups as a trace that ui.perfetto.dev opens. Importing this imports Arrow and Perfetto's protobufs.

Track: a group, one of its members, one of its partitions. Arrows (flows) lead from a cause to its epoch, and from there
to the partitions that changed hands. Groups are read and written one after the other.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import count, groupby
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    BUILTIN_CLOCK_BOOTTIME,
    BUILTIN_CLOCK_REALTIME,
    TracePacket,
    TrackEvent,
)
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from rebalance_audit.audit.rows import Row
from rebalance_audit.errors import require_known
from rebalance_audit.new_file import replacing
from rebalance_audit.report.trace_events import TABLES, Facts, TraceEvent, Track, group_track
from rebalance_audit.tables.order import in_key_order
from rebalance_audit.tables.row_shapes import plain
from rebalance_audit.tables.rows import GoldRows, Rows

NS_OF_MS: Final = 1_000_000
LAST_MS: Final = (1 << 63) // NS_OF_MS - 1
"""The viewer counts nanoseconds since 1970 in 63 bits, until 2262. A record may claim any time."""
ROWS_AT_ONCE: Final = 10_000
SEQUENCE: Final = 1
"""One writer: events of the same time keep their order."""


def export_perfetto(
    rows: GoldRows,
    target: Path,
    log_end_ms: Callable[[str], int | None],
    group_ids: Collection[str] = (),
) -> dict[str, int]:
    """Write the trace to `target` and return how many groups, tracks, events and flows it has.

    `log_end_ms`: the end of a cluster's log (epoch ms), None where that is not known; `group_ids`: only these. Raises
    LakeNotReadable, UnknownGroup, and OSError. A file that is there is replaced once all is written.
    """
    states = rows.table("gold.group_states").to_arrow()
    require_known(group_ids, set(pc.unique(states.column("group_id")).to_pylist()))
    tables = {name: rows.table(f"gold.{name}").where(group_ids) for name in TABLES}
    several = len(pc.unique(states.column("cluster"))) > 1
    with replacing(target) as new, new.open("wb") as file:
        trace = _TraceFile(StreamingTraceProtoBuilder(file))
        flow_ids = count(1)
        for cluster, group_id, own in _groups(tables):
            end_ms = log_end_ms(cluster)
            track = group_track(group_id, own, _latest(own) if end_ms is None else end_ms, flow_ids)
            name = f"{cluster}: {track.name}" if several else track.name
            trace.write(track._replace(name=name))
        return {**trace.counts, "flows": next(flow_ids) - 1}


class _TraceFile:
    """Writes tracks with their events."""

    def __init__(self, builder: StreamingTraceProtoBuilder) -> None:
        self._builder = builder
        self._track_ids = count(1)
        self._has_clock = False
        self.counts = Counter(groups=0, tracks=0, events=0)

    def write(self, group: Track) -> None:
        self.counts["groups"] += 1
        self._write(group, None)

    def _write(self, track: Track, parent: int | None) -> None:
        lanes = _lanes(track.events)
        # Slices of one track must nest. Tracks of one name and parent are shown as one, with several rows.
        uuids = [self._describe(track.name, parent) for _ in lanes or ((),)]
        for uuid, lane in zip(uuids, lanes, strict=False):
            for event in lane:
                self._event(uuid, event)
        for child in track.children:
            self._write(child, uuids[0])

    def _describe(self, name: str, parent: int | None) -> int:
        uuid = next(self._track_ids)
        self.counts["tracks"] += 1
        packet = self._packet(None)
        packet.track_descriptor.uuid = uuid
        packet.track_descriptor.name = name
        if parent is not None:
            packet.track_descriptor.parent_uuid = parent
        self._builder.write_packet(packet)
        return uuid

    def _event(self, track: int, event: TraceEvent) -> None:
        self.counts["events"] += 1
        packet = self._packet(event.from_ms)
        begun = packet.track_event
        begun.track_uuid = track
        begun.type = TrackEvent.TYPE_INSTANT if event.to_ms is None else TrackEvent.TYPE_SLICE_BEGIN
        begun.name = event.name
        begun.categories.append(event.category)
        begun.flow_ids.extend(event.starts_flows)
        begun.terminating_flow_ids.extend(event.ends_flows)
        _annotate(begun, event.facts)
        self._builder.write_packet(packet)
        if event.to_ms is not None:
            packet = self._packet(event.to_ms)
            packet.track_event.track_uuid = track
            packet.track_event.type = TrackEvent.TYPE_SLICE_END
            self._builder.write_packet(packet)

    def _packet(self, at_ms: int | None) -> TracePacket:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        if at_ms is None:
            return packet
        packet.timestamp = min(max(at_ms, 0), LAST_MS) * NS_OF_MS
        if not self._has_clock:
            self._has_clock = True
            self._write_clock(packet.timestamp)
        return packet

    def _write_clock(self, at_ns: int) -> None:
        """The trace's own clock is that of the wall, so that the viewer can show UTC."""
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        for clock_id in (BUILTIN_CLOCK_BOOTTIME, BUILTIN_CLOCK_REALTIME):
            packet.clock_snapshot.clocks.add(clock_id=clock_id, timestamp=at_ns)
        self._builder.write_packet(packet)


def _annotate(event: TrackEvent, facts: Facts) -> None:
    for name, value in facts.items():
        if isinstance(value, int):
            event.debug_annotations.add(name=name, int_value=value)
        elif value is not None:
            event.debug_annotations.add(name=name, string_value=value)


def _lanes(events: Sequence[TraceEvent]) -> list[list[TraceEvent]]:
    """The events in as few rows as it takes for none to overlap another in its row, each in order of time."""
    lanes: list[list[TraceEvent]] = []
    ends: list[int] = []
    for event in sorted(events, key=lambda each: (each.from_ms, each.to_ms or each.from_ms)):
        lane = next((n for n, end_ms in enumerate(ends) if end_ms <= event.from_ms), len(lanes))
        if lane == len(lanes):
            lanes.append([])
            ends.append(0)
        lanes[lane].append(event)
        ends[lane] = event.from_ms if event.to_ms is None else event.to_ms
    return lanes


def _groups(tables: Mapping[str, Rows]) -> Iterator[tuple[str, str, dict[str, list[Row]]]]:
    """(Cluster, group, its rows by table), in order."""
    readers = {name: _by_group(table) for name, table in tables.items()}
    waiting = {name: next(reader, None) for name, reader in readers.items()}
    while there := [found[0] for found in waiting.values() if found is not None]:
        key = min(there)
        own: dict[str, list[Row]] = {}
        for name, found in waiting.items():
            own[name] = []
            if found is not None and found[0] == key:
                own[name] = in_key_order(name, found[1])
                waiting[name] = next(readers[name], None)
        yield *key, own


def _by_group(table: Rows) -> Iterator[tuple[tuple[str, str], list[Row]]]:
    """Tables are in order of their keys, which begin with cluster and group."""
    batches = table.to_arrow().to_batches(ROWS_AT_ONCE)
    rows = (plain(row) for batch in batches for row in batch.to_pylist(maps_as_pydicts="strict"))
    for key, its_rows in groupby(rows, key=lambda row: (row["cluster"], row["group_id"])):
        yield key, list(its_rows)


def _latest(own: dict[str, list[Row]]) -> int:
    """The latest moment in a group's rows, where a lake does not know the end of the log."""
    columns: dict[str, tuple[str, ...]] = {
        "group_states": ("from_at", "to_at"),
        "epochs": ("started_at", "converged_at"),
        "ownership": ("from_at", "to_at"),
        "members": ("first_seen_at", "last_seen_at", "left_at"),
    }
    moments: Iterator[Any] = (
        row[column] for name, some in columns.items() for row in own[name] for column in some
    )
    return max((moment for moment in moments if moment is not None), default=0)
