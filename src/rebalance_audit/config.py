"""Configuration: defaults < file < environment < flags; an unknown key anywhere is an error.

`conf/base.toml` holds every key with its default and what it means; the classes here hold the types. Times and
thresholds of the audit are the fields of `DepartureRules` and `FindingRules`, and a test holds the file to their
defaults. Importing this module imports pydantic (0.3 s), so commands that need no configuration should not.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    create_model,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from rebalance_audit.audit.thresholds import DepartureRules, FindingRules
from rebalance_audit.kafka_options import HIDDEN, shown_value
from rebalance_audit.resources import read_text
from rebalance_audit.shown_settings import shown_setting, without_credentials
from rebalance_audit.time_zones import zone_of

BASE = "conf/base.toml"
PREFIX = "REBALANCE_AUDIT_"
_COMMAND_LINE = "command line"
_FREE = (
    "spark.settings.",
    "source.kafka.options.",
    "source.kafka.admin.",
    "source.storage_options.",
    "lake.storage_options.",
    "lake.delta_rs_options.",
    "maintain.vacuum_hours_of.",
    "maintain.keep_days.",
)
"""Sections whose keys are names of other programs' options, or of tables."""
_SECRET = (
    "source.kafka.options",
    "source.kafka.admin",
    "source.storage_options",
    "lake.storage_options",
    "lake.delta_rs_options",
    "spark.settings",
)

Milliseconds = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


def _known_zone(name: str) -> str:
    zone_of(name)
    return name


class ConfigError(ValueError):
    """A configuration that cannot be used; the message is one sentence and names the key and where it was set."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _as_text(value: object) -> object:
    """Numbers and truth values as Kafka's client takes them."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


ClientOption = Annotated[SecretStr, BeforeValidator(_as_text)]
"""A value that is hidden wherever the configuration is printed, except for what `shown_value` lets through."""


def unhidden(options: Mapping[str, SecretStr]) -> dict[str, str]:
    """Options with their values."""
    return {name: value.get_secret_value() for name, value in options.items()}


class KafkaConfig(_Section):
    """A live cluster."""

    start: str
    max_offsets_per_trigger: int = Field(ge=0)
    trigger_seconds: float = Field(ge=0)
    min_partitions: int = Field(ge=0)
    group_id_prefix: str = Field(min_length=1)
    timeout_ms: int = Field(ge=1_000)
    sampled_partitions_max: int = Field(ge=0)
    options: dict[str, ClientOption]
    admin: dict[str, ClientOption]


class SourceConfig(_Section):
    """Where the log comes from."""

    spec: str
    split_target_bytes: int = Field(ge=1_048_576)
    storage_options: dict[str, ClientOption]
    kafka: KafkaConfig


class LakeConfig(_Section):
    """Where the tables are, and how they are written."""

    path: str
    writer: Literal["auto", "delta-rs", "spark"]
    stage_folder: str
    storage_options: dict[str, ClientOption]
    delta_rs_options: dict[str, ClientOption]


def _fields_of(rules: type[DepartureRules | FindingRules]) -> dict[str, Any]:
    """Fields of a section, with their types and defaults: those of the rules, 0 for a time that is not known."""
    return {
        field.name: (Milliseconds if field.name.endswith("_ms") else Count, field.default or 0)
        for field in fields(rules)
    }


class _AuditSection(_Section):
    broker_log_time_zone: Annotated[str, AfterValidator(_known_zone)] = "UTC"

    def departure_rules(self) -> DepartureRules:
        """The times as the audit takes them."""
        times = self.model_dump(include={field.name for field in fields(DepartureRules)})
        times["consumer_session_timeout_ms"] = times["consumer_session_timeout_ms"] or None
        return DepartureRules(**times)


class _FindingsSection(_Section):
    def finding_rules(self) -> FindingRules:
        """The thresholds as the audit takes them."""
        return FindingRules(**self.model_dump())


if TYPE_CHECKING:
    AuditConfig: TypeAlias = _AuditSection
    FindingsConfig: TypeAlias = _FindingsSection
else:
    AuditConfig = create_model(
        "AuditConfig",
        __base__=_AuditSection,
        __doc__="Times of the cluster that the log does not hold.",
        **_fields_of(DepartureRules),
    )
    FindingsConfig = create_model(
        "FindingsConfig",
        __base__=_FindingsSection,
        __doc__="Thresholds of the findings.",
        **_fields_of(FindingRules),
    )


class ChecksConfig(_Section):
    """Data quality."""

    run_age_ms: Milliseconds
    record_age_ms: Milliseconds
    sample_keys: Count

    def limits(self) -> dict[str, int]:
        """The limits that checks name, in milliseconds."""
        return {"run_age_ms": self.run_age_ms, "record_age_ms": self.record_age_ms}


class MaintainConfig(_Section):
    """How long rows and files are kept."""

    vacuum_hours: int = Field(ge=0)
    vacuum_hours_of: dict[str, Annotated[int, Field(ge=0)]]
    keep_days: dict[str, Count]


class SparkConfig(_Section):
    """The Spark session."""

    master: str
    jars_folder: str
    settings: dict[str, str]


class Config(BaseSettings):
    """The effective configuration, as `load_config` makes it."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, env_prefix=PREFIX, env_nested_delimiter="__"
    )

    cluster: str = Field(min_length=1)
    source: SourceConfig
    lake: LakeConfig
    audit: AuditConfig
    findings: FindingsConfig
    checks: ChecksConfig
    maintain: MaintainConfig
    spark: SparkConfig

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load_config` has merged: it knows where each value came from."""
        return (init_settings,)


def load_config(file: Path | None = None, flags: Mapping[str, object] | None = None) -> Config:
    """The configuration of this process.

    `flags` are keyed by dotted key (`lake.path`); a flag that was not given is None. Raises ConfigError.
    """
    layers = [(BASE, tomllib.loads(read_text(BASE))), *_given(file, flags)]
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        _merge(merged, layer)
        origins.update(dict.fromkeys(_keys(layer), origin))
    try:
        return Config(**merged)
    except ValidationError as error:
        raise ConfigError(
            "; ".join(_sentence(dict(item), origins) for item in error.errors())
        ) from None


def is_given(key: str, file: Path | None = None, flags: Mapping[str, object] | None = None) -> bool:
    """Whether the file, the environment or a flag sets the key; else its default holds. Raises ConfigError."""
    return any(key in _keys(layer) for _, layer in _given(file, flags))


def effective_config(config: Config) -> str:
    """The configuration as TOML, with the comments of `conf/base.toml`.

    Of options of Kafka's client, settings of Spark and URLs it shows what is known to be no secret.
    """
    import tomlkit  # noqa: PLC0415 - only --print-config needs it

    document = tomlkit.parse(read_text(BASE))
    values = config.model_dump()
    options = unhidden(config.source.kafka.options)
    values["source"]["kafka"]["options"] = {
        name: shown_value(name, value) for name, value in options.items()
    }
    for section, key in (
        (values["source"]["kafka"], "admin"),
        (values["source"], "storage_options"),
        (values["lake"], "storage_options"),
        (values["lake"], "delta_rs_options"),
    ):
        section[key] = dict.fromkeys(section[key], HIDDEN)
    values["spark"]["settings"] = {
        name: shown_setting(name, value) for name, value in config.spark.settings.items()
    }
    for section, key in (
        (values["source"], "spec"),
        (values["lake"], "path"),
        (values["lake"], "stage_folder"),
    ):
        section[key] = without_credentials(section[key])
    _merge(document, values)
    return tomlkit.dumps(document)


def _given(
    file: Path | None, flags: Mapping[str, object] | None
) -> list[tuple[str, dict[str, Any]]]:
    """What is set besides the defaults, each layer with its origin; a later one wins."""
    own_file = [] if file is None else [(str(file), _read(file))]
    return [
        *own_file,
        ("environment", _environment()),
        (_COMMAND_LINE, _nested(flags or {})),
    ]


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: it is not UTF-8, so it is no TOML.") from None
    except ValueError as error:
        raise ConfigError(f"{file}: {error}") from None


def _environment() -> dict[str, Any]:
    """What the variables with our prefix set; the library reads known names and skips others."""
    for variable in sorted(os.environ):
        if variable.upper().startswith(PREFIX):
            key = variable[len(PREFIX) :].lower().replace("__", ".")
            if not _is_key(key):
                raise ConfigError(f"environment variable {variable}: {_unknown(key)}")
    try:
        return EnvSettingsSource(Config)()
    except SettingsError as error:
        raise ConfigError(f"environment: {error}") from None


def _nested(flags: Mapping[str, object]) -> dict[str, Any]:
    layer: dict[str, Any] = {}
    for key, value in flags.items():
        if value is not None:
            *sections, name = key.split(".")
            section = layer
            for part in sections:
                section = section.setdefault(part, {})
            section[name] = value
    return layer


def _merge(target: Any, layer: Mapping[str, Any]) -> None:
    for name, value in layer.items():
        if isinstance(value, Mapping) and isinstance(target.get(name), Mapping):
            _merge(target[name], value)
        else:
            target[name] = dict(value) if isinstance(value, Mapping) else value


def _keys(layer: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Dotted names of a layer's keys and sections."""
    for name, value in layer.items():
        yield prefix + name
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{name}.")


def _known_keys(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _known_keys(field.annotation, f"{prefix}{name}.")


def _is_key(key: str) -> bool:
    return key in _known_keys() or key.startswith(_FREE)


def _unknown(key: str) -> str:
    near = get_close_matches(key, _known_keys(), n=1)
    return f"unknown key {key}" + (f", did you mean {near[0]}?" if near else "")


def _sentence(error: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    key = ".".join(str(part) for part in error["loc"])
    origin = origins.get(key, "configuration")
    if origin == "environment":
        origin = f"environment variable {PREFIX}{key.upper().replace('.', '__')}"
    if error["type"] == "extra_forbidden":
        return f"{origin}: {_unknown(key)}"
    # A table may have any keys; what is in it is not repeated.
    is_plain = isinstance(error["input"], str | int | float)
    given = repr(error["input"]) if is_plain and not key.startswith(_SECRET) else HIDDEN
    return f"{origin}: {key} = {given}: {error['msg']}"
