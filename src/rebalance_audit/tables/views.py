"""Views over the gold tables as data: `schemas/views/*.sql`, one query per file, for dashboards.

A query is Spark SQL; DuckDB runs it with some functions renamed. Tables are named by layer and name, as `gold.epochs`;
whoever makes a view puts in what they are called where the view is made. What several queries ask is a figure of
`schemas/figures`, named as `figures.rebalances`: a view has its query in place of the name. What the page and agents
ask of both is in `schemas/questions`, in DuckDB's SQL.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from rebalance_audit.resources import list_files, read_text

VIEWS_SCHEMA: Final = "views"
"""The views' place beside the layers: `views.groups_now`."""

FIGURES_SCHEMA: Final = "figures"
_TABLE: Final = re.compile(r"\bgold\.[a-z_]+")
_FIGURE: Final = re.compile(rf"\b{FIGURES_SCHEMA}\.([a-z_]+)")
_DUCKDB_NAMES: Final = {
    "array_size": "len",
    "element_at": "array_extract",
    "explode": "unnest",
    "sequence": "generate_series",
    "unix_millis": "epoch_ms",
}
_SPARK_FUNCTION: Final = re.compile(rf"\b({'|'.join(_DUCKDB_NAMES)})\(")
_COMMENT: Final = "-- "


@dataclass(frozen=True, slots=True)
class View:
    """A query with a name. Its comments are the question that it answers, then what a row is."""

    name: str
    question: str
    description: str
    sql: str
    """The query without its comments."""

    @property
    def tables(self) -> frozenset[str]:
        """Full names of the tables that it reads."""
        return frozenset(_TABLE.findall(self.sql))

    @property
    def duckdb_sql(self) -> str:
        """The query for DuckDB, which has other names for some functions of Spark."""
        return _SPARK_FUNCTION.sub(lambda found: f"{_DUCKDB_NAMES[found[1]]}(", self.sql)

    def sql_over(self, name_of: Callable[[str], str]) -> str:
        """The query over tables of other names: `name_of` takes a full name and gives the name in SQL."""
        return _TABLE.sub(lambda found: name_of(found[0]), self.sql)


@cache
def views() -> tuple[View, ...]:
    """Every view, by name."""
    return _parsed(VIEWS_SCHEMA)


@cache
def figures() -> tuple[View, ...]:
    """What rebalances, groups and findings amount to."""
    return _parsed(FIGURES_SCHEMA)


def quoted(text: str) -> str:
    """A literal of standard SQL, as DuckDB and delta-rs read it: a quote is written twice, and nothing is an escape."""
    return "'" + text.replace("'", "''") + "'"


@cache
def question_sql(name: str) -> str:
    """A question with parameters (`$limit`), for a DuckDB that has the tables, figures and views."""
    return read_text(f"schemas/questions/{name}.sql")


def _parsed(folder: str) -> tuple[View, ...]:
    return tuple(_view(path) for path in list_files(f"schemas/{folder}", ".sql"))


@cache
def _view(path: str) -> View:
    lines = read_text(path).splitlines()
    comments = [line.removeprefix(_COMMENT) for line in lines if line.startswith(_COMMENT)]
    query = "\n".join(line for line in lines if not line.startswith(_COMMENT))
    query = _FIGURE.sub(lambda found: f"({_view(f'schemas/figures/{found[1]}.sql').sql})", query)
    name = path.rpartition("/")[2].removesuffix(".sql")
    return View(name, comments[0], " ".join(comments[1:]), query)
