"""The transactions of one producer, as far as the offsets topic sees them: commits, then a marker."""

from collections.abc import Callable
from typing import Final

from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequestTopic,
    TxnOffsetCommitRequest,
    WriteTxnMarkerRequest,
)
from rebalance_audit.sim.brokers.broker import ServedPartition
from rebalance_audit.sim.cluster import Cluster, always, ignore_response

_TXN_COMMIT_VERSION: Final = 4
_TIMEOUT_MS: Final = 60_000
"""After that the transaction coordinator aborts what its producer does not end."""
_RETRY_MS: Final = 100


class Transactions:
    """One transaction after the other; a new one may begin when the marker of the last one is written."""

    def __init__(
        self, cluster: Cluster, served: ServedPartition, transactional_id: str, producer_id: int
    ) -> None:
        """No transaction is open."""
        self._cluster = cluster
        self._served = served
        self._transactional_id = transactional_id
        self._producer_id = producer_id
        self._epoch = 0
        self._begun = 0
        self.is_open = False

    def begin(
        self,
        group_id: str,
        topics: tuple[OffsetCommitRequestTopic, ...],
        generation: int | None = None,
        member_id: str = "",
        instance_id: str | None = None,
    ) -> TxnOffsetCommitRequest:
        """The request that commits offsets in a new transaction."""
        assert not self.is_open
        self.is_open = True
        self._begun += 1
        request = TxnOffsetCommitRequest(
            self._transactional_id,
            group_id,
            self._producer_id,
            self._epoch,
            topics,
            group_instance_id=instance_id,
            api_version=_TXN_COMMIT_VERSION,
        )
        if generation is None:
            return request
        return request._replace(generation_id=generation, member_id=member_id)

    def end_after(
        self, delay_ms: int, *, committed: bool = True, is_alive: Callable[[], bool] = always
    ) -> None:
        """The producer ends the transaction then, if it is still alive."""
        begun = self._begun

        def end() -> None:
            if is_alive():
                self._end(begun, committed=committed)
            else:
                self.hang()

        self._cluster.scheduler.after(delay_ms, end)

    def hang(self) -> None:
        """The producer does not end it: the transaction coordinator fences it, and aborts."""
        begun = self._begun
        self._cluster.scheduler.after(_TIMEOUT_MS, lambda: self._fence(begun))

    def begin_anew(self) -> None:
        """The producer starts again (`initTransactions`): what it left open is aborted."""
        self._fence(self._begun)

    def _fence(self, begun: int) -> None:
        if self.is_open and begun == self._begun:
            self._epoch += 1
            self._end(begun, committed=False)

    def _end(self, begun: int, *, committed: bool) -> None:
        """Write the marker; retry until the partition's broker accepts it."""
        if not self.is_open or begun != self._begun:
            return
        if not self._served.is_active:
            self._cluster.scheduler.after(_RETRY_MS, lambda: self._end(begun, committed=committed))
            return
        request = WriteTxnMarkerRequest(
            self._producer_id, self._epoch, committed, coordinator_epoch=0
        )
        self._served.receive(request, ignore_response)
        self.is_open = False
