"""Consumers of share groups (KIP-932): several may read one partition, so nothing is given up before it is taken."""

from rebalance_audit.coordinator.requests.consumer import JOIN_EPOCH
from rebalance_audit.coordinator.requests.share import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from rebalance_audit.replay.groups import LEFT_EPOCH
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.beating import BeatingClient
from rebalance_audit.sim.clients.client_config import ClientConfig
from rebalance_audit.sim.cluster import Cluster


class ShareClient(BeatingClient):
    """One share consumer. What it reads is in `shares`: others may read it too, so it owns nothing."""

    def __init__(self, cluster: Cluster, config: ClientConfig, chance: Chance) -> None:
        """Configured but not started."""
        super().__init__(cluster, config, chance)
        self.shares: frozenset[tuple[bytes, int]] = frozenset()
        """(Topic id, partition)."""

    def is_settled(self) -> str | None:
        """What it waits for; None when it is a member."""
        return None if self.generation > JOIN_EPOCH else f"{self.name} is no member"

    def _request(self) -> ShareGroupHeartbeatRequest:
        sends_all = self.sends_all or self.generation == JOIN_EPOCH
        self.sends_all = False
        return ShareGroupHeartbeatRequest(
            self.group_id,
            self.member_id,
            self.generation,
            subscribed_topic_names=self.config.topics if sends_all else None,
            client_id=self.name,
        )

    def _leaving(self) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            self.group_id, self.member_id, LEFT_EPOCH, client_id=self.name
        )

    def _follow(self, response: ShareGroupHeartbeatResponse) -> None:
        if response.assignment is not None:
            self.shares = frozenset(
                (topic_id, number)
                for topic_id, numbers in response.assignment
                for number in numbers
            )

    def _give_everything_up(self) -> None:
        self.shares = frozenset()
