"""What the simulated brokers log about their groups: `server.log`, in Kafka's words.

It observes what any code in the broker's process could: requests, timers and changes. It does not know the clients'
intentions; what they do not say in a request is not in the log either.
"""

import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode, Response
from rebalance_audit.coordinator.requests.consumer import ConsumerGroupHeartbeatRequest
from rebalance_audit.coordinator.requests.offsets import DeleteGroupsRequest, OffsetCommitRequest
from rebalance_audit.replay.changes import Change, GroupType
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import (
    Changed,
    Happening,
    Observer,
    ServedPartition,
    by_group,
)
from rebalance_audit.sim.brokers.server_log_classic import ClassicLines
from rebalance_audit.sim.brokers.server_log_modern import modern_lines

SERVER_LOG: Final = "server.log"
_MANAGER: Final = "org.apache.kafka.coordinator.group.GroupMetadataManager"
_SHARD: Final = "org.apache.kafka.coordinator.group.GroupCoordinatorShard"
_RUNTIME: Final = "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime"
_CHUNK_LINES: Final = 5_000


class BrokerLogWriter(Observer):
    """Observes coordinators; keeps their lines packed, since a long run has millions."""

    def __init__(self, config: CoordinatorConfig, broker_count: int) -> None:
        """Nothing is logged yet."""
        self._config = config
        self._broker_count = broker_count
        self._classic: dict[int, ClassicLines] = {}
        self._packed: list[bytes] = []
        self._fresh: list[str] = []
        self._second = -1
        self._time = ""

    def write(self, folder: Path) -> None:
        """Write the file."""
        with (folder / SERVER_LOG).open("wb") as file:
            for packed in self._packed:
                file.write(zlib.decompress(packed))
            file.write("".join(self._fresh).encode())

    # --- what it observes --------------------------------------------------------------------------

    def moved(self, shard: ServedPartition, happening: Happening, changed: Changed) -> None:
        """Log what a request or timer did."""
        if isinstance(happening.request, OffsetCommitRequest):
            return
        classic = self._classic.get(shard.number)
        if classic is None:
            classic = self._classic[shard.number] = ClassicLines(self._config.dialect)
        groups = by_group(changed)
        if isinstance(happening.request, DeleteGroupsRequest):
            self._log_deleted(shard, groups)
        for slot, changes in groups:
            self._log(shard, modern_lines(slot, changes, happening, self._config))
        self._log(shard, classic.lines(shard.coordinator, happening, groups))

    def answered(self, shard: ServedPartition, request: Response, response: Response) -> None:
        """Among answers, only the refusal of an instance id that another member holds is logged."""
        error = getattr(response, "error_code", None)
        if (
            isinstance(request, ConsumerGroupHeartbeatRequest)
            and error is ErrorCode.UNRELEASED_INSTANCE_ID
        ):
            slot = shard.shard.slot(request.group_id)
            members = getattr(slot.group, "members", {}) if slot is not None else {}
            holder = next(
                (
                    member.member_id
                    for member in members.values()
                    if member.instance_id == request.instance_id
                ),
                "",
            )
            text = (
                f"[GroupId {request.group_id}] Static member {request.member_id} with instance id "
                f"{request.instance_id} cannot join the group because the instance id is owned by member {holder}."
            )
            self._put(shard, text)

    def loaded(self, shard: ServedPartition, lost: Sequence[LoggedRecord]) -> None:
        """A coordinator took over."""
        del lost
        self._classic[shard.number] = ClassicLines(self._config.dialect)
        partition, leader_epoch = shard.number, shard.leader_epoch
        self._put(
            shard,
            f"Finished loading of metadata from __consumer_offsets-{partition} with epoch "
            f"{leader_epoch} in 0ms where 0ms was spent in the scheduler.",
            _RUNTIME,
        )
        for slot in shard.shard.groups():
            group = slot.group
            assert group is not None
            kind = getattr(group, "group_type", GroupType.CLASSIC)
            members = getattr(group, "members", {})
            self._put(shard, f"Loaded {kind} group {slot.group_id} with {len(members)} members.")

    # --- lines -------------------------------------------------------------------------------------

    def _log_deleted(
        self, shard: ServedPartition, groups: Iterable[tuple[GroupSlot, list[Change]]]
    ) -> None:
        gone = [slot.group_id for slot, _ in groups if slot.group is None]
        if gone:
            text = f"The following groups were deleted: {', '.join(gone)}. A total of 0 offsets were removed."
            self._put(shard, text, _SHARD)

    def _log(self, shard: ServedPartition, lines: Iterable[str]) -> None:
        for line in lines:
            self._put(shard, line)

    def _put(self, shard: ServedPartition, text: str, logger: str = _MANAGER) -> None:
        now_ms = shard.now_ms
        second, millis = divmod(now_ms, 1000)
        if second != self._second:
            self._second = second
            self._time = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S")
        broker = (shard.number + shard.leader_epoch) % self._broker_count
        mark = f"GroupCoordinator id={broker} topic=__consumer_offsets partition={shard.number}"
        self._fresh.append(f"[{self._time},{millis:03d}] INFO [{mark}] {text} ({logger})\n")
        if len(self._fresh) >= _CHUNK_LINES:
            self._packed.append(zlib.compress("".join(self._fresh).encode(), 1))
            self._fresh = []
