"""Data Docs: the suites, run by Great Expectations itself, without a project folder and without network."""

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import great_expectations as gx
from great_expectations.core import ExpectationValidationResult
from great_expectations.core.result_format import ResultFormat
from great_expectations.data_context.types.base import ProgressBarsConfig

from rebalance_audit.lake.checks.check_frames import (
    CheckedTable,
    Frame,
    Scope,
    TableFrames,
    shown_text,
)
from rebalance_audit.tables.rules import view_name
from rebalance_audit.tables.suites import suite_of

SITE: Final = "docs"
TELEMETRY_OFF: Final = {"GX_ANALYTICS_ENABLED": "false", "SCARF_ANALYTICS": "false"}
"""This release of the library sends no telemetry; in a later one it is switched off."""


class DataDocs:
    """Runs suites in a context of its own, whose results become pages."""

    def __init__(self, folder: Path) -> None:
        """The pages are written to `folder` by `build`."""
        os.environ.update(TELEMETRY_OFF)
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        self._context.add_data_docs_site(site_name=SITE, site_config=_site(folder))
        self._source = self._context.data_sources.add_spark("lake")

    def add(self, table: CheckedTable, tables: TableFrames, scope: Scope) -> None:
        """Run the table's suite over the rows in the scope's window.

        Raises RuntimeError for an expectation that cannot be evaluated.
        """
        name = table.schema.full_name
        found = tables.find(name)
        if found is None:
            return
        suite = suite_of(table.schema, scope.bounds, table.passed_over, found[1].columns)
        context = self._context
        batch = self._source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all")
        definition = context.validation_definitions.add(
            gx.ValidationDefinition(
                name=name, data=batch, suite=context.suites.add(gx.ExpectationSuite(**suite))
            )
        )
        with _views(table, tables), warnings.catch_warnings():
            # They are about the library's use of its own dependencies: a caller cannot change that.
            warnings.simplefilter("ignore")
            done = definition.run(
                batch_parameters={"dataframe": shown_text(scope.rows(table.schema, found[1]))},
                result_format=ResultFormat.SUMMARY,
            )
        for result in done.results:
            if error := _error(result.exception_info):
                raise RuntimeError(f"{_name(result)} cannot be evaluated: {error}")

    def build(self) -> None:
        """Write the pages of all results into the folder."""
        self._context.build_data_docs(site_names=[SITE])


@contextmanager
def _views(table: CheckedTable, tables: TableFrames) -> Iterator[None]:
    """The other tables that the suite's queries name, as temporary views."""
    names = {check.table for check in table.problems if check.table is not None}
    frames: dict[str, Frame] = {
        view_name(name): found[1] for name in names if (found := tables.find(name)) is not None
    }
    for view, frame in frames.items():
        shown_text(frame).createOrReplaceTempView(view)
    try:
        yield
    finally:
        for view, frame in frames.items():
            frame.sparkSession.catalog.dropTempView(view)


def _name(result: ExpectationValidationResult) -> str:
    assert result.expectation_config is not None
    return str(result.expectation_config.meta["name"])


def _error(exception_info: Mapping[str, Any] | None) -> str | None:
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
