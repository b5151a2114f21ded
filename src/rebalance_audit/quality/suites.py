"""Great Expectations at work: a suite per table, run over a Spark frame, without a project folder and without network.

A suite runs twice at most. The first run asks only which expectations hold: their counts come out of one job for each
condition. The second asks those that do not for counts and keys, which costs some jobs for each.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import great_expectations as gx
from great_expectations.core import ExpectationValidationResult
from great_expectations.data_context.types.base import ProgressBarsConfig

from rebalance_audit.lake.check_frames import Frame
from rebalance_audit.quality.expectations import Expected
from rebalance_audit.table_schemas import TableSchema

DOCS_SITE: Final = "docs"
TELEMETRY_OFF: Final = {"GX_ANALYTICS_ENABLED": "false", "SCARF_ANALYTICS": "false"}
"""This release of the library sends nothing; one that would is told not to."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of an expectation."""

    success: bool
    rows: int
    """Rows of the table that were looked at."""
    unexpected_count: int = 0
    keys: tuple[Mapping[str, Any], ...] = ()
    """Keys of rows that break it, some of them if they are many."""
    detail: str | None = None
    """What is wrong with the first of them."""


class Suites:
    """Runs suites in a context of its own."""

    def __init__(self, docs: Path | None, sample_keys: int) -> None:
        """With `docs`, a folder, every result is kept for Data Docs."""
        os.environ.update(TELEMETRY_OFF)
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        # Frames are kept by who makes them.
        self._source = self._context.data_sources.add_spark("lake", persist=False)
        self._sample_keys = sample_keys
        self._docs = docs
        if docs is not None:
            self._context.add_data_docs_site(site_name=DOCS_SITE, site_config=_site(docs))

    def judge(
        self, schema: TableSchema, expected: Sequence[Expected], frame: Frame, rows: int
    ) -> dict[str, Judgement]:
        """Name -> judgement of each expectation about the rows of a table, so many as there are."""
        judged = {one.name: Judgement(success=True, rows=rows) for one in expected}
        if not rows:
            return judged
        counted = {
            "result_format": "SUMMARY",
            "unexpected_index_column_names": list(schema.key),
            "partial_unexpected_count": self._sample_keys,
        }
        name = schema.full_name
        if self._docs is None:
            results = self._run(name, expected, frame, {"result_format": "BOOLEAN_ONLY"})
            broken = [one for one in expected if not results[one.name].success]
            results = self._run(f"{name} broken", broken, frame, counted) if broken else {}
        else:
            results = self._run(name, expected, frame, counted)
        for one in expected:
            if one.name in results and not results[one.name].success:
                judged[one.name] = _judgement(schema, one, results[one.name].result, rows)
        return judged

    def build_docs(self) -> None:
        """Write the pages of all results into the folder."""
        self._context.build_data_docs(site_names=[DOCS_SITE])

    def _run(
        self,
        name: str,
        expected: Sequence[Expected],
        frame: Frame,
        result_format: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Name of each expectation -> the library's result. Raises RuntimeError for one that cannot be judged."""
        context = self._context
        batch = self._source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all")
        # An expectation belongs to one suite.
        expectations = [one.expectation.copy(update={"id": None}) for one in expected]
        suite = gx.ExpectationSuite(name=name, expectations=expectations)
        definition = gx.ValidationDefinition(name=name, data=batch, suite=context.suites.add(suite))
        definition = context.validation_definitions.add(definition)
        with warnings.catch_warnings():
            # The library's own use of its dependencies, nothing that a caller can change.
            warnings.simplefilter("ignore")
            done = definition.run(
                batch_parameters={"dataframe": frame}, result_format=dict(result_format)
            )
        results = {_name(result): result for result in done.results}
        for result_name, result in results.items():
            if error := _error(result.exception_info):
                raise RuntimeError(f"{result_name} cannot be judged: {error}")
        return results


def _name(result: ExpectationValidationResult) -> str:
    assert result.expectation_config is not None
    name = result.expectation_config.meta["name"]
    assert isinstance(name, str)
    return name


def _judgement(
    schema: TableSchema, expected: Expected, result: Mapping[str, Any], rows: int
) -> Judgement:
    keys = result.get("partial_unexpected_index_list") or []
    values = result.get("partial_unexpected_list") or []
    return Judgement(
        success=False,
        rows=rows,
        unexpected_count=result["unexpected_count"],
        keys=tuple({name: key[name] for name in schema.key} for key in keys),
        detail=_detail(expected, values),
    )


def _detail(expected: Expected, values: Sequence[Any]) -> str | None:
    """What is wrong with the first row."""
    if expected.says_what:
        return str(values[0]) if values else None
    if expected.check.kind == "not_null":
        return f"{expected.check.columns[0]} is null"
    return f"{expected.check.columns[0]} is {values[0]}" if values else None


def _error(exception_info: Mapping[str, Any] | None) -> str | None:
    """What went wrong with an expectation, in one line."""
    if not exception_info:
        return None
    infos = [exception_info] if "raised_exception" in exception_info else exception_info.values()
    raised = [info for info in infos if info["raised_exception"]]
    return str(raised[0]["exception_message"]).partition("\n")[0] if raised else None


def _site(folder: Path) -> Any:
    return {
        "class_name": "SiteBuilder",
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        "store_backend": {
            "class_name": "TupleFilesystemStoreBackend",
            "base_directory": str(folder.absolute()),
        },
    }
