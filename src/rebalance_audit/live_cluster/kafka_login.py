"""Options of Kafka's Java client, translated into those with which kafka-python logs in to the same cluster."""

import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rebalance_audit.errors import BadRequest
from rebalance_audit.kafka_options import jaas_options

PEM: Final = "PEM"
PASSWORD_MECHANISMS: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})
OWN_MEANS: Final = frozenset({"GSSAPI", "AWS_MSK_IAM"})
"""Mechanisms that find their credentials outside the options: a ticket cache, an instance's role."""
INSTEAD: Final = "give kafka-python's own options in [source.kafka.admin]"
_ALIKE: Final = (
    "security_protocol",
    "ssl_context",
    "sasl_mechanism",
    "sasl_plain_username",
    "sasl_plain_password",
    "sasl_kerberos_service_name",
)
"""Arguments that aiokafka's client has too."""


def login(options: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of a kafka-python client that correspond to the resolved security options of Kafka's client.

    Raises BadRequest for what kafka-python cannot do; the sentence contains no value of an option except a mechanism.
    """
    protocol = options.get("security.protocol", "PLAINTEXT")
    wanted: dict[str, Any] = {"security_protocol": protocol}
    if protocol.startswith("SASL"):
        wanted |= _sasl(options)
    if protocol.endswith("SSL"):
        wanted["ssl_context"] = _tls(options)
        wanted["ssl_check_hostname"] = wanted["ssl_context"].check_hostname
    return wanted


def login_of_aiokafka(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a kafka-python client as those of aiokafka's, which wants certificates as a context.

    Raises BadRequest for certificates that cannot be used, and for a mechanism that aiokafka does not have.
    """
    wanted = {name: arguments[name] for name in _ALIKE if name in arguments}
    protocol = wanted.get("security_protocol", "PLAINTEXT")
    mechanism = wanted.get("sasl_mechanism", "")
    if protocol.startswith("SASL") and mechanism not in PASSWORD_MECHANISMS | {"GSSAPI"}:
        raise BadRequest(
            f"A live cluster cannot be watched with SASL mechanism {mechanism}: watch a copy of the log,"
            " segments:DIR."
        )
    if protocol.endswith("SSL") and "ssl_context" not in wanted:
        wanted["ssl_context"] = _in_files(arguments)
    return wanted


def _in_files(arguments: Mapping[str, Any]) -> ssl.SSLContext:
    with _usable("[source.kafka.admin]"):
        context = ssl.create_default_context(cafile=arguments.get("ssl_cafile"))
        if "ssl_certfile" in arguments:
            context.load_cert_chain(
                arguments["ssl_certfile"],
                arguments.get("ssl_keyfile"),
                arguments.get("ssl_password"),
            )
    return context


@contextmanager
def _usable(where: str) -> Iterator[None]:
    """Raises BadRequest for certificates that the ssl module refuses."""
    try:
        yield
    except (OSError, ValueError) as error:
        # An SSLError is an OSError; neither repeats its input.
        why = getattr(error, "strerror", None) or str(error)
        raise BadRequest(f"The certificates in {where} cannot be used: {why}.") from None


def _sasl(options: Mapping[str, str]) -> dict[str, Any]:
    mechanism = options.get("sasl.mechanism", "GSSAPI")
    if mechanism in PASSWORD_MECHANISMS:
        given = jaas_options(options.get("sasl.jaas.config", ""))
        if not {"username", "password"} <= given.keys():
            raise BadRequest(
                f"Kafka option sasl.jaas.config has no username and password for mechanism {mechanism}."
            )
        return {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": given["username"],
            "sasl_plain_password": given["password"],
        }
    if mechanism in OWN_MEANS:
        service = options.get("sasl.kerberos.service.name")
        named = {"sasl_kerberos_service_name": service} if service else {}
        return {"sasl_mechanism": mechanism, **named}
    raise BadRequest(
        f"kafka-python cannot log in by SASL mechanism {mechanism} with options alone: {INSTEAD}."
    )


def _tls(options: Mapping[str, str]) -> ssl.SSLContext:
    with _usable("the Kafka options"):
        is_in_file = "ssl.truststore.location" in options
        context = ssl.create_default_context(
            cafile=_pem(options, "truststore") if is_in_file else None,
            cadata=options.get("ssl.truststore.certificates"),
        )
        _present_own(context, options)
    # With an empty algorithm Kafka's client accepts a certificate that names another host.
    context.check_hostname = options.get("ssl.endpoint.identification.algorithm", "https") != ""
    return context


def _present_own(context: ssl.SSLContext, options: Mapping[str, str]) -> None:
    """Load the client's own certificate and key, if it has any."""
    password = options.get("ssl.key.password")
    if "ssl.keystore.location" in options:
        context.load_cert_chain(_pem(options, "keystore"), password=password)
    elif "ssl.keystore.key" in options:
        # The ssl module takes only files. Only we can read this one, and it is gone at once.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(f"{options['ssl.keystore.key']}\n")
            file.write(f"{options.get('ssl.keystore.certificate.chain', '')}\n")
            file.flush()
            context.load_cert_chain(file.name, password=password)


def _pem(options: Mapping[str, str], store: str) -> Path:
    kind = options.get(f"ssl.{store}.type", "JKS")
    if kind.upper() != PEM:
        raise BadRequest(
            f"kafka-python cannot read the {store}, which is {kind}: export it as PEM and set ssl.{store}.type = PEM,"
            f" or {INSTEAD}."
        )
    return Path(options[f"ssl.{store}.location"])
