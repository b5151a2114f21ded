"""Secrets in a configuration are hidden because they are not known to be harmless, not because of their names."""

import contextlib
import io
from pathlib import Path

import pytest

from rebalance_audit.cli.output import echo
from rebalance_audit.config import ConfigError, effective_config, load_config
from rebalance_audit.errors import BadRequest, LakeNotReadable, NotDelivered
from rebalance_audit.kafka_options import HIDDEN
from rebalance_audit.shown_settings import shown_setting, without_credentials
from tests.cli.call import call

KEY = "pssst-7f3a"


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.container.lake.blob.core.windows.net",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.hadoop.google.cloud.auth.service.account.private.key",
        "spark.hadoop.javax.jdo.option.ConnectionURL",
        "spark.sql.catalog.unity.token",
        "spark.sql.catalog.rest.credential",
        "spark.driver.extraJavaOptions",
        "spark.executorEnv.AWS_SECRET_ACCESS_KEY",
        "spark.authenticate.secret",
        "spark.ssl.keyPassword",
        "spark.ui.filters",
        "spark.jars.repositories",
        "spark.a.name.of.tomorrow",
    ],
)
def test_a_setting_that_is_not_known_is_hidden(name: str) -> None:
    """In --print-config and in the run log of a lake, which both print this text."""
    config = load_config(flags={"spark.settings": {name: KEY}})
    text = effective_config(config)
    assert KEY not in text
    assert f'"{name}" = "{HIDDEN}"' in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.driver.memory", "4g"),
        ("spark.sql.shuffle.partitions", "8"),
        ("spark.dynamicAllocation.maxExecutors", "20"),
        ("spark.databricks.delta.optimize.maxFileSize", "1"),
        ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
    ],
)
def test_what_is_no_secret_is_shown(name: str, value: str) -> None:
    """Sizes, counts and classes."""
    assert shown_setting(name, value) == value


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        (f"s3a://user:{KEY}@bucket/lake", f"s3a://user:{HIDDEN}@bucket/lake"),
        (f"s3a://user:{KEY}/b@bucket/lake", f"s3a://user:{HIDDEN}@bucket/lake"),
        ("hdfs://host:8020/a@b/lake",) * 2,
        (f"delta:https://host/lake?sig={KEY}&se=1", f"delta:https://host/lake?{HIDDEN}"),
        ("abfss://container@account.dfs.core.windows.net/lake",) * 2,
        (f"https://{KEY}@host/lake", f"https://{HIDDEN}@host/lake"),
        ("/data/lake?odd=name",) * 2,
    ],
)
def test_a_url_is_shown_without_password_and_query(location: str, shown: str) -> None:
    """The rest says which lake it is."""
    assert without_credentials(location) == shown
    text = effective_config(load_config(flags={"lake.path": location}))
    assert f'path = "{shown}"' in text


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            f"'az://c/lake?sv=1&sig={KEY}' and s3a://u:{KEY}@b/x are gone.",
            f"'az://c/lake?{HIDDEN}' and s3a://u:{HIDDEN}@b/x are gone.",
        ),
        (f"Refused: se=1&sig={KEY}&sp=r", f"Refused: se=1&sig={HIDDEN}&sp=r"),
        (
            f"X-Amz-Credential=A/{KEY}; AccountKey={KEY}==;x",
            f"X-Amz-Credential={HIDDEN}; AccountKey={HIDDEN};x",
        ),
        ("How late is kafka:b-1:9092? key=value, a=b@c, http://b:80/x is fine.",) * 2,
    ],
)
def test_a_sentence_is_shown_without_credentials(said: str, shown: str) -> None:
    """Those of a storage's own error, which a run notes, an agent gets and a person reads."""
    for error in (BadRequest(said), LakeNotReadable(said), NotDelivered(said)):
        assert str(error) == shown
    out = io.StringIO()
    with contextlib.redirect_stderr(out):
        echo(said, err=True)
    assert out.getvalue() == f"{shown}\n"


@pytest.mark.parametrize("json", [(), ("--json",)])
@pytest.mark.parametrize(
    "command",
    [
        ("inspect", "--lake"),
        ("state", "--lake"),
        ("metrics", "--lake"),
        ("what-if", "--group", "g", "--lake"),
        ("predict", "--group", "g", "--lake"),
        ("inspect",),
        ("watch",),
    ],
    ids=" ".join,
)
def test_a_command_does_not_repeat_the_credentials_of_its_location(
    command: tuple[str, ...], json: tuple[str, ...]
) -> None:
    """Nothing is there: the error names the place."""
    outcome = call(*command, f"odd://user:{KEY}@host/lake?sig={KEY}", "--debug", *json)
    assert outcome.code != 0
    assert "host" in outcome.err
    assert KEY not in outcome.out + outcome.err


@pytest.mark.parametrize(
    "text",
    [
        f'[spark.settings]\n"spark.hadoop.fs.s3a.secret.key" = ["{KEY}"]',
        f'[spark]\nsettings = ["{KEY}"]',
        f'[source.kafka.options]\n"ssl.key.password" = ["{KEY}"]',
        f'[source.kafka]\noptions = ["{KEY}"]',
        f'[source]\nkafka = ["{KEY}"]',
    ],
)
def test_a_value_of_the_wrong_type_is_not_repeated(text: str, tmp_path: Path) -> None:
    """The error names the key."""
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_config(file)
    assert KEY not in str(refused.value)
