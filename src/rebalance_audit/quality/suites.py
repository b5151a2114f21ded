"""Great Expectations at work: a suite per table, run over a Spark frame, without a project folder and without network.

A suite says only which expectations hold; it has no row conditions: each would cost two jobs.
`lake.checks.check_frames.broken_rows` finds the rows that break the others, in one job for all.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import great_expectations as gx
from great_expectations.core import ExpectationValidationResult
from great_expectations.core.result_format import ResultFormat
from great_expectations.data_context.types.base import ProgressBarsConfig

from rebalance_audit.lake.checks.check_frames import Frame, text_as_html
from rebalance_audit.quality.expectations import Expected

DOCS_SITE: Final = "docs"
TELEMETRY_OFF: Final = {"GX_ANALYTICS_ENABLED": "false", "SCARF_ANALYTICS": "false"}
"""This release of the library sends no telemetry; in a later one it is switched off."""


class Suites:
    """Runs suites in a context of its own."""

    def __init__(self, docs: Path | None) -> None:
        """With `docs`, a folder, every result is kept for Data Docs."""
        os.environ.update(TELEMETRY_OFF)
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        # Whoever makes a frame keeps it in memory.
        self._source = self._context.data_sources.add_spark("lake", persist=False)
        # Only Data Docs use values, and each costs a job.
        self._has_docs = docs is not None
        self._result_format = ResultFormat.BOOLEAN_ONLY if docs is None else ResultFormat.SUMMARY
        if docs is not None:
            self._context.add_data_docs_site(site_name=DOCS_SITE, site_config=_site(docs))

    def broken(self, table: str, expected: Sequence[Expected], frame: Frame) -> set[str]:
        """Names of the expectations that rows of the frame break.

        Raises RuntimeError for one that cannot be judged.
        """
        context = self._context
        if self._has_docs:
            # The library's templates put values into pages as they are, scripts included.
            frame = text_as_html(frame)
        batch = self._source.add_dataframe_asset(table).add_batch_definition_whole_dataframe("all")
        expectations = [one.expectation for one in expected]
        suite = context.suites.add(gx.ExpectationSuite(name=table, expectations=expectations))
        definition = context.validation_definitions.add(
            gx.ValidationDefinition(name=table, data=batch, suite=suite)
        )
        with warnings.catch_warnings():
            # They are about the library's use of its own dependencies: a caller cannot change that.
            warnings.simplefilter("ignore")
            done = definition.run(
                batch_parameters={"dataframe": frame}, result_format=self._result_format
            )
        for result in done.results:
            if error := _error(result.exception_info):
                raise RuntimeError(f"{_name(result)} cannot be judged: {error}")
        return {_name(result) for result in done.results if not result.success}

    def build_docs(self) -> None:
        """Write the pages of all results into the folder."""
        self._context.build_data_docs(site_names=[DOCS_SITE])


def _name(result: ExpectationValidationResult) -> str:
    assert result.expectation_config is not None
    name = result.expectation_config.meta["name"]
    assert isinstance(name, str)
    return name


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
