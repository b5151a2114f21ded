"""Options of Kafka's client: what they refer to, and what may be seen of them."""

from pathlib import Path

import pytest

from rebalance_audit.config import ConfigError, effective_config, load_config, unhidden
from rebalance_audit.kafka_options import (
    HIDDEN,
    BadOption,
    hide,
    jaas_options,
    resolved,
    shown_value,
)

JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required username='u' password="


@pytest.mark.parametrize(
    ("name", "value", "seen"),
    [
        ("security.protocol", "SASL_SSL", "SASL_SSL"),
        ("sasl.mechanism", "PLAIN", "PLAIN"),
        ("request.timeout.ms", "3000", "3000"),
        ("ssl.truststore.location", "/etc/ca.pem", "/etc/ca.pem"),
        ("ssl.truststore.password", "hush", HIDDEN),
        ("ssl.key.password", "hush", HIDDEN),
        ("ssl.keystore.key", "-----BEGIN PRIVATE KEY-----", HIDDEN),
        ("sasl.oauthbearer.token.endpoint.url", "https://u:p@host/token", HIDDEN),
        ("anything.new", "who knows", HIDDEN),
        ("ssl.key.password", "${env:KEY_PASSWORD}", "${env:KEY_PASSWORD}"),
        ("ssl.key.password", "${file:/run/secrets/key}", "${file:/run/secrets/key}"),
        ("ssl.key.password", "x${env:KEY_PASSWORD}", HIDDEN),
        ("sasl.jaas.config", f"{JAAS}'hush';", HIDDEN),
        ("sasl.jaas.config", f'{JAAS}"${{env:P}}";', f'{JAAS}"${{env:P}}";'),
        ("sasl.jaas.config", f'{JAAS}"${{env:P}}" token="hush";', HIDDEN),
    ],
)
def test_what_is_shown(name: str, value: str, seen: str) -> None:
    """Harmless options, and mere references to secrets; whatever else there is might be one."""
    assert shown_value(name, value) == seen


def test_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables and files are looked up, anywhere in a value; Kafka's own references are left to Kafka."""
    monkeypatch.setenv("AUDIT_PASSWORD", "s3cret")
    file = tmp_path / "key"
    file.write_text("line 1\nline 2\n")
    given = {
        "sasl.jaas.config": f"{JAAS}'${{env:AUDIT_PASSWORD}}';",
        "ssl.keystore.key": f"${{file:{file}}}",
    }
    assert resolved(given) == {
        "sasl.jaas.config": f"{JAAS}'s3cret';",
        "ssl.keystore.key": "line 1\nline 2",
    }
    with_providers = {"config.providers": "env", "ssl.key.password": "${env:KEY}"}
    assert resolved(with_providers) == with_providers


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (
            "pre${env:NOT_SET_ANYWHERE}",
            r"ssl\.key\.password refers to the environment variable NOT_SET",
        ),
        (
            "pre${file:/nowhere/at/all}",
            r"refers to the file /nowhere/at/all, which cannot be read: No such",
        ),
    ],
)
def test_references_to_nothing(value: str, sentence: str) -> None:
    """Refused with the option's name, without the rest of its value."""
    with pytest.raises(BadOption, match=sentence) as error:
        resolved({"ssl.key.password": value})
    assert "pre" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f"{JAAS}'a b;c';", {"username": "u", "password": "a b;c"}),
        (f'{JAAS}"a\\"b\\\\c" ;', {"username": "u", "password": 'a"b\\c'}),
        (f"{JAAS}plain;", {"username": "u", "password": "plain"}),
        ("-----BEGIN PRIVATE KEY-----\nMIIE=\n", {}),
        ("", {}),
    ],
)
def test_options_of_a_login_module(text: str, options: dict[str, str]) -> None:
    """Quoted in either way, with escapes, or not at all."""
    assert jaas_options(text) == options


def test_no_text_keeps_a_secret() -> None:
    """A whole value, and the password in it by itself, are blacked out; what is harmless or tiny stays."""
    options = {
        "sasl.jaas.config": f"{JAAS}'s3cret';",
        "security.protocol": "SASL_SSL",
        "ssl.key.password": "no",
    }
    text = f"SASL_SSL failed with {options['sasl.jaas.config']}: no user s3cret"
    assert hide(text, options) == f"SASL_SSL failed with {HIDDEN}: no user {HIDDEN}"


def test_the_configuration_shows_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file and from the environment: taken as they are, printed without; numbers as Kafka takes them."""
    file = tmp_path / "own.toml"
    file.write_text(
        '[source.kafka.options]\n"ssl.key.password" = "hush-1"\n"fetch.max.bytes" = 7\n'
        '[source.kafka.admin]\nsasl_plain_password = "hush-2"\n'
    )
    variable = "REBALANCE_AUDIT_SOURCE__KAFKA__OPTIONS"
    monkeypatch.setenv(variable, '{"ssl.truststore.password": "hush-3", "check.crcs": true}')
    config = load_config(file)
    assert unhidden(config.source.kafka.options) == {
        "ssl.key.password": "hush-1",
        "fetch.max.bytes": "7",
        "ssl.truststore.password": "hush-3",
        "check.crcs": "true",
    }
    assert unhidden(config.source.kafka.admin) == {"sasl_plain_password": "hush-2"}
    printed = effective_config(config)
    assert "hush" not in printed + repr(config)
    assert f'"ssl.key.password" = "{HIDDEN}"' in printed
    assert '"fetch.max.bytes" = "7"' in printed


@pytest.mark.parametrize("value", ["'hush'", '[["hush"]]', '{"ssl.key.password": ["hush"]}'])
def test_a_bad_option_is_refused_without_its_value(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of the wrong kind may still be a secret."""
    monkeypatch.setenv("REBALANCE_AUDIT_SOURCE__KAFKA__OPTIONS", value)
    with pytest.raises(ConfigError) as error:
        load_config()
    assert "hush" not in str(error.value)
