from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.audit.thresholds import DepartureRules
from rebalance_audit.config import Config, ConfigError, effective_config, load_config

SESSION = "audit.consumer_session_timeout_ms"
SESSION_VARIABLE = "REBALANCE_AUDIT_AUDIT__CONSUMER_SESSION_TIMEOUT_MS"


def value_of(config: Config, key: str) -> Any:
    """Value of a dotted key."""
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def test_defaults_need_nothing() -> None:
    """Without file, environment and flags every key has the default of conf/base.toml."""
    config = load_config()
    assert config.cluster == "default"
    assert value_of(config, SESSION) == 0
    assert config.spark.settings == {}


@pytest.mark.parametrize(
    ("in_file", "in_environment", "as_flag", "winner"),
    [
        (None, None, None, 0),
        (1, None, None, 1),
        (None, "2", None, 2),
        (None, None, 3, 3),
        (1, "2", None, 2),
        (1, None, 3, 3),
        (None, "2", 3, 3),
        (1, "2", 3, 3),
    ],
)
def test_flags_win_over_the_environment_over_the_file_over_the_defaults(
    in_file: int | None,
    in_environment: str | None,
    as_flag: int | None,
    winner: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The nearest one that says something about a key decides it; the others keep theirs."""
    file = tmp_path / "mine.toml"
    line = "" if in_file is None else f"consumer_session_timeout_ms = {in_file}"
    file.write_text(f'cluster = "east"\n[audit]\n{line}\n')
    if in_environment is not None:
        monkeypatch.setenv(SESSION_VARIABLE, in_environment)
    config = load_config(file, {SESSION: as_flag})
    assert value_of(config, SESSION) == winner
    assert config.cluster == "east"
    rules = DepartureRules(consumer_session_timeout_ms=winner or None)
    assert config.audit.departure_rules() == rules


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("[lake]\npth = 'x'", "unknown key lake.pth, did you mean lake.path?"),
        ("colour = 1", "unknown key colour"),
        (
            "[audit]\nconsumer_session_timeout_ms = 'long'",
            f"{SESSION} = 'long': Input should be a valid integer",
        ),
        (
            "[audit]\nconsumer_session_timeout_ms = -1",
            f"{SESSION} = -1: Input should be greater than or equal to 0",
        ),
        ("[source]\nsplit_target_bytes = 10", "source.split_target_bytes = 10"),
        ("cluster = ''", "cluster = ''"),
        ("lake = 'here'", "lake = 'here'"),
        ("[lake\n", "Expected ']'"),
    ],
)
def test_what_is_wrong_in_a_file_is_reported_with_file_and_key(
    toml: str, sentence: str, tmp_path: Path
) -> None:
    """An unknown key, a value of the wrong kind and broken TOML are errors that name file and key."""
    file = tmp_path / "mine.toml"
    file.write_text(toml)
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert str(caught.value).startswith(f"{file}: {sentence}")


def test_a_missing_file_is_reported_with_its_name(tmp_path: Path) -> None:
    """--config of a file that is not there is an error, never the defaults."""
    with pytest.raises(ConfigError, match=r"absent\.toml: No such file"):
        load_config(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("REBALANCE_AUDIT_LAKE__PAHT", "x", "unknown key lake.paht, did you mean lake.path?"),
        ("REBALANCE_AUDIT_CLUSTR", "x", "unknown key clustr, did you mean cluster?"),
        (SESSION_VARIABLE, "long", f"{SESSION} = 'long': Input should be a valid integer"),
    ],
)
def test_what_is_wrong_in_the_environment_is_reported_with_the_variable(
    variable: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt or unusable variable is an error that names the variable."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as caught:
        load_config()
    assert str(caught.value).startswith(f"environment variable {variable}: {sentence}")


def test_spark_settings_of_any_name_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings are free names; those of file and environment are joined, the environment wins."""
    file = tmp_path / "mine.toml"
    file.write_text(
        '[spark.settings]\n"spark.ui.enabled" = "false"\n"spark.driver.memory" = "1g"\n'
    )
    monkeypatch.setenv("REBALANCE_AUDIT_SPARK__SETTINGS", '{"spark.driver.memory": "4g"}')
    settings = load_config(file).spark.settings
    assert settings == {"spark.ui.enabled": "false", "spark.driver.memory": "4g"}


def test_the_effective_configuration_is_a_file_that_gives_itself(tmp_path: Path) -> None:
    """What --print-config shows can be saved and used as --config with the same effect, comments included."""
    config = load_config(
        flags={
            "cluster": 'east "1"',
            "lake.path": "/lake/ü",
            "spark.settings": {"spark.driver.memory": "4g"},
        }
    )
    text = effective_config(config)
    assert "# Name of the Kafka cluster" in text
    file = tmp_path / "effective.toml"
    file.write_text(text, encoding="utf-8")
    assert load_config(file) == config


@pytest.mark.parametrize(
    "section",
    [
        "source.kafka.options",
        "source.kafka.admin",
        "source.storage_options",
        "lake.storage_options",
        "lake.delta_rs_options",
    ],
)
def test_the_effective_configuration_hides_secrets(section: str) -> None:
    """Whose options they are; their names are shown."""
    text = effective_config(load_config(flags={section: {"sasl.password": "hunter2"}}))
    assert "hunter2" not in text
    assert "sasl.password" in text


def test_a_session_timeout_of_zero_is_an_unknown_one() -> None:
    """TOML has no null: 0 means that the brokers' setting is unknown."""
    rules = load_config(flags={SESSION: 0}).audit.departure_rules()
    assert rules.consumer_session_timeout_ms is None
