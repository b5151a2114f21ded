"""A broker with a second listener that wants a user and a password, and lets that user do what it was granted.

The listener can want TLS too, with certificates on both sides.
"""

import subprocess
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
from tests.support.broker_folder import OFFSETS_TOPIC
from tests.support.live_groups import HASTE
from tests.support.ports import free_ports

USER: Final = "audit"
ANY_HOST: Final = "*"
LOOPBACK: Final = "subjectAltName=IP:127.0.0.1"


class Grant(NamedTuple):
    """Something that the user may do."""

    kind: ResourceType
    name: str
    operation: AclOperation
    pattern: ResourcePatternType = ResourcePatternType.LITERAL


OF_THE_LOG: Final = tuple(
    Grant(ResourceType.TOPIC, OFFSETS_TOPIC, operation)
    for operation in (AclOperation.READ, AclOperation.DESCRIBE)
)
"""What a reader of the log needs: docs/live-kafka.md, Permissions."""


@contextmanager
def secured_broker(
    folder: Path, password: str, grants: Iterable[Grant], store: Path | None = None
) -> Iterator[tuple[Broker, int]]:
    """A broker, on whose own listener everybody may do everything, and the port of the listener with SASL/PLAIN.

    `store` is a certificate with its key in PEM: the broker presents it, and takes clients with the same one only.
    """
    (port,) = free_ports(1)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    settings = {
        **HASTE,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:"
        + ("SASL_PLAINTEXT" if store is None else "SASL_SSL"),
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config": f'{module} required user_{USER}="{password}";',
        **({} if store is None else _tls(store)),
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


def made_certificate(folder: Path) -> Path:
    """A new certificate for 127.0.0.1 that vouches for itself, with its key, in one PEM file."""
    key, certificate, store = (folder / name for name in ("key.pem", "ca.pem", "store.pem"))
    subject = ["-subj", "/CN=audit", "-addext", LOOPBACK, "-days", "2", "-nodes"]
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", *subject]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    store.write_text(key.read_text() + certificate.read_text())
    return store


def _tls(store: Path) -> dict[str, str]:
    listener = "listener.name.secured.ssl"
    return {
        **{f"{listener}.{kind}store.type": "PEM" for kind in ("key", "trust")},
        f"{listener}.keystore.location": str(store),
        f"{listener}.truststore.location": str(store.with_name("ca.pem")),
        # SASL_SSL has brokers ask for no certificate unless this listener's prefix says so.
        f"{listener}.client.auth": "required",
    }
