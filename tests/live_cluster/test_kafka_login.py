"""How kafka-python logs in where Spark's connector does."""

import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.errors import BadRequest
from rebalance_audit.live_cluster.kafka_cluster import KafkaCluster, KafkaSettings
from rebalance_audit.live_cluster.kafka_login import login, login_of_aiokafka

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='p';"


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, {"security_protocol": "PLAINTEXT"}),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": JAAS,
            },
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": "u",
                "sasl_plain_password": "p",
            },
        ),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.kerberos.service.name": "kafka"},
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "GSSAPI",
                "sasl_kerberos_service_name": "kafka",
            },
        ),
    ],
)
def test_logins(options: dict[str, str], arguments: dict[str, Any]) -> None:
    """By the options of Kafka's own client alone."""
    assert login(options) == arguments


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "no username and password"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "cannot log in by SASL mechanism OAUTH"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"}, "the truststore, which is JKS: export it"),
        (
            {"security.protocol": "SSL", "ssl.keystore.location": "/k.p12", "ssl.keystore.type": "PKCS12"},
            "the keystore, which is PKCS12",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/nowhere", "ssl.truststore.type": "PEM"},
            "certificates in the Kafka options cannot be used: No such file",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.certificates": "no certificate"},
            "certificates in the Kafka options cannot be used",
        ),
    ],
)  # fmt: skip
def test_what_kafka_python_cannot_do(options: dict[str, str], sentence: str) -> None:
    """Refused in one sentence before anything is connected."""
    with pytest.raises(BadRequest, match=sentence):
        KafkaCluster("host:9092", KafkaSettings(options=options))


def test_certificates(tmp_path: Path) -> None:
    """Stores in PEM, as files or as texts; host names are checked unless the options say not to."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=audit", "-days", "2", "-passout", "pass:hush"]
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", *subject]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + certificate.read_text())
    in_files = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificate),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
        "ssl.key.password": "hush",
    }
    as_texts = {
        "security.protocol": "SSL",
        "ssl.truststore.certificates": certificate.read_text(),
        "ssl.keystore.key": key.read_text(),
        "ssl.keystore.certificate.chain": certificate.read_text(),
        "ssl.key.password": "hush",
        "ssl.endpoint.identification.algorithm": "",
    }
    for options, checks in ((in_files, True), (as_texts, False)):
        context = login(options)["ssl_context"]
        assert isinstance(context, ssl.SSLContext)
        assert context.check_hostname == checks
        assert context.cert_store_stats()["x509"] == 1
    with pytest.raises(BadRequest, match="cannot be used"):
        login(in_files | {"ssl.key.password": "wrong"})


def test_own_arguments_of_kafka_python_win() -> None:
    """They replace what does not follow from the client's options, as a store in Java's own format."""
    options = {"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"}
    KafkaCluster("host:9092", KafkaSettings(options=options, admin={"ssl_cafile": "/ca.pem"}))


def test_aiokafka_logs_in_likewise(tmp_path: Path) -> None:
    """Certificates in files become a context; what it cannot do is refused in one sentence."""
    options = {"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"}
    missing = KafkaCluster("h:9", KafkaSettings(options=options, admin={"ssl_cafile": "/nowhere"}))
    with pytest.raises(BadRequest, match=r"\[source.kafka.admin\] cannot be used: No such file"):
        login_of_aiokafka(missing.login)
    plain = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
    assert login_of_aiokafka({**plain, "ssl_check_hostname": True}) == plain
    with pytest.raises(BadRequest, match="watched with SASL mechanism AWS_MSK_IAM"):
        login_of_aiokafka({**plain, "sasl_mechanism": "AWS_MSK_IAM"})
