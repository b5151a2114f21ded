"""What a trigger of a run may set, each with its type. Everything else is the site's configuration.

Whoever may trigger a DAG in Airflow is not necessarily someone who may run programs on its workers, so programs, paths,
sources, settings and retention come from the site's Variable alone. The conf of a run, and events about assets, are
checked against this table before a job sees anything of them.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from airflow.sdk import Param
from airflow.sdk.exceptions import AirflowFailException

_MOMENT = (
    r"^[12]\d{3}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.]\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$(?!\n)"
)
_PRINTABLE = r"^[^\x00-\x1f\x7f]+$(?!\n)"


class Setting(NamedTuple):
    """One name that a trigger may set."""

    about: str
    """One sentence, which the form for a run by hand shows."""
    schema: Mapping[str, Any]
    """JSON schema of the value."""

    def param(self, *, required: bool = False) -> Param:
        """The param of a DAG."""
        if required:
            return Param(description=self.about, **self.schema)
        kinds = {"type": ["null", self.schema["type"]]}
        return Param(None, description=self.about, **{**self.schema, **kinds})


SETTINGS: Mapping[str, Setting] = {
    "cluster": Setting(
        "Name of a Kafka cluster in the site's Variable; empty: the site's.",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": _PRINTABLE},
    ),
    "groups": Setting(
        "Regular expression of the groups to audit; empty: the site's, or all.",
        {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": _PRINTABLE},
    ),
    "source": Setting(
        "Name of one of the site's `sources`, to ingest first; empty: no ingest.",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": _PRINTABLE},
    ),
    "from": Setting(
        "Only what begins at this moment or later, ISO 8601; without a zone it is UTC.",
        {"type": "string", "pattern": _MOMENT},
    ),
    "to": Setting(
        "Only what begins before this time.",
        {"type": "string", "pattern": _MOMENT},
    ),
    "days": Setting(
        "Days shown; empty: the site's.",
        {"type": "integer", "minimum": 1, "maximum": 3660},
    ),
    "dry_run": Setting(
        "Only report what would be done.",
        {"type": "boolean"},
    ),
    "tables": Setting(
        "Only these tables, such as gold.epochs; empty: all.",
        {
            "type": "array",
            "maxItems": 100,
            "items": {"type": "string", "pattern": "^[a-z]{1,32}[.][a-z_]{1,64}$"},
        },
    ),
}
"""Name -> what it means and what it may be."""


def params(*names: str, required: Collection[str] = ()) -> dict[str, Param]:
    """Params of a DAG, by names of SETTINGS."""
    return {name: SETTINGS[name].param(required=name in required) for name in names}


def checked(given: Mapping[str, Any], declared: Collection[str]) -> dict[str, Any]:
    """What was given, without what is empty.

    Raises AirflowFailException for a name that the DAG does not declare or that is not in SETTINGS, and for a value of
    another type: a retry would not help.
    """
    allowed = [name for name in SETTINGS if name in declared]
    if refused := sorted(map(repr, given.keys() - set(allowed))):
        raise AirflowFailException(
            f"A run may set {', '.join(allowed)}, and not {', '.join(refused)}: programs, paths and sources are set in"
            " the site's Variable (docs/airflow.md)."
        )
    values = {name: value for name, value in given.items() if value is not None}
    for name, value in values.items():
        try:
            SETTINGS[name].param().resolve(value)
        except ValueError as error:
            sentence = str(error).partition("\n")[0]
            raise AirflowFailException(f"{name} cannot be {value!r}: {sentence}") from error
    return values
