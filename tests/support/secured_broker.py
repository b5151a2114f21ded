"""A broker with a second listener that wants a user and a password, and lets that user do what it was granted."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from tests.support.broker import Broker, running_broker
from tests.support.live_groups import HASTE
from tests.support.ports import free_ports

USER: Final = "audit"
ANY_HOST: Final = "*"


class Grant(NamedTuple):
    """Something that the user may do."""

    kind: ResourceType
    name: str
    operation: AclOperation
    pattern: ResourcePatternType = ResourcePatternType.LITERAL


@contextmanager
def secured_broker(
    folder: Path, password: str, grants: Iterable[Grant]
) -> Iterator[tuple[Broker, int]]:
    """A broker, on whose own listener everybody may do everything, and the port of the listener with SASL/PLAIN."""
    (port,) = free_ports(1)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    settings = {
        **HASTE,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config": f'{module} required user_{USER}="{password}";',
    }
    with running_broker(
        folder, settings=settings, listener=f"SECURED://127.0.0.1:{port}"
    ) as broker:
        admin = broker.admin()
        acls = [
            AclBinding(
                grant.kind,
                grant.name,
                grant.pattern,
                f"User:{USER}",
                ANY_HOST,
                grant.operation,
                AclPermissionType.ALLOW,
            )
            for grant in grants
        ]
        for made in admin.create_acls(acls).values():
            made.result()
        yield broker, port
