"""Clients of a broker that come, work, leave and are killed: `python -m workshop.endurance.clients SERVERS NAME SEED`.

One process holds some members of groups of both protocols and goes on until it is killed, which takes its members out
of their groups without a word. Which step is next is drawn from the seed; what the broker answers is not.
"""

import sys
import time
from random import Random
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.live_groups import PROTOCOLS

TOPICS: Final = {"orders": 4, "payments": 3}
"""Topic -> its partitions at the start."""
GROUPS: Final = 3
"""Of each protocol."""
MEMBERS_MAX: Final = 4
"""Of one process."""
STEP_SECONDS: Final = 0.05
SESSION_TIMEOUT_MS: Final = 6000
STRATEGIES: Final = ("range", "roundrobin", "cooperative-sticky")
STEPS: Final = {"work": 60, "join": 4, "leave": 2, "resubscribe": 1, "delete": 1}
"""Step -> how often, beside the others."""


class Clients:
    """The members of one process."""

    def __init__(self, servers: str, name: str, random: Random) -> None:
        self._servers = servers
        self._name = name
        self._random = random
        self._members: list[Consumer] = []
        self._admin = AdminClient({"bootstrap.servers": servers})
        self._offset = 0
        self._steps = {
            "work": self._work,
            "join": self._join,
            "leave": self._leave,
            "resubscribe": self._resubscribe,
            "delete": self._delete,
        }

    def go_on(self) -> None:
        """Step after step, until the process ends."""
        while True:
            (step,) = self._random.choices([*STEPS], [*STEPS.values()])
            try:
                self._steps[step]()
            except KafkaException as error:
                # The broker is away, or a rebalance came between: the next step is another try.
                self._note(step, error)
            time.sleep(STEP_SECONDS)

    def _work(self) -> None:
        self._offset += 1
        for member in list(self._members):
            message = member.poll(STEP_SECONDS)
            error = None if message is None else message.error()
            if error is not None and error.fatal():
                self._members.remove(member)  # another one has its instance id
                member.close()
                continue
            offsets = [
                TopicPartition(place.topic, place.partition, self._offset, metadata=self._name)
                for place in member.assignment()
            ]
            if offsets:
                member.commit(offsets=offsets, asynchronous=False)

    def _join(self) -> None:
        if len(self._members) >= MEMBERS_MAX:
            return
        protocol = self._random.choice(PROTOCOLS)
        number = self._random.randrange(GROUPS)
        settings: dict[str, Any] = {
            "bootstrap.servers": self._servers,
            "group.id": f"{protocol}-{number}",
            "group.protocol": protocol,
            "client.id": self._name,
            "enable.auto.commit": False,
            "log_level": 2,  # it logs each broken connection
        }
        if protocol == "classic":
            settings["heartbeat.interval.ms"] = 500
            settings["session.timeout.ms"] = SESSION_TIMEOUT_MS
            settings["partition.assignment.strategy"] = STRATEGIES[number]
        if self._random.random() < 0.4:
            settings["group.instance.id"] = f"{self._name}-{len(self._members)}"
        member = Consumer(settings)
        member.subscribe(self._topics())
        self._members.append(member)

    def _leave(self) -> None:
        if self._members:
            self._members.pop(self._random.randrange(len(self._members))).close()

    def _resubscribe(self) -> None:
        if self._members:
            self._random.choice(self._members).subscribe(self._topics())

    def _delete(self) -> None:
        """Delete a group; the broker refuses where there are members."""
        group_id = f"{self._random.choice(PROTOCOLS)}-{self._random.randrange(GROUPS)}"
        for deleted in self._admin.delete_consumer_groups([group_id]).values():
            deleted.result()

    def _topics(self) -> list[str]:
        return self._random.sample([*TOPICS], self._random.randint(1, len(TOPICS)))

    def _note(self, step: str, error: KafkaException) -> None:
        code = error.args[0].code()
        if code != KafkaError.NON_EMPTY_GROUP:
            sys.stderr.write(f"{self._name}: {step}: {error.args[0].name()}\n")


if __name__ == "__main__":
    _, servers, name, seed = sys.argv
    Clients(servers, name, Random(f"{seed} {name}")).go_on()
