"""`rebalance-audit check`: data-quality suites over the tables of a lake, with Spark."""

from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.cli import exit_codes, options
from rebalance_audit.cli.invocation import Invocation, configured
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import progress
from rebalance_audit.sentences import words
from rebalance_audit.visible import visible

if TYPE_CHECKING:
    from rebalance_audit.lake.checks.check_frames import CheckResult
    from rebalance_audit.quality.check import CheckReport

EXAMPLES: Final = """\b
Examples:
  rebalance-audit check --lake lake
  rebalance-audit check --lake lake --cluster blue --from -2h --json
  rebalance-audit check --lake lake --table gold.epochs --docs pages

\b
Exit code 4: an expectation of severity fail is not met.
"""
KEYS_SHOWN: Final = 3
"""Sample keys that people are shown of each expectation; the table has more."""


@click.command(epilog=EXAMPLES)
@options.lake
@click.option("--cluster", metavar="NAME", help="Only rows of this cluster. Default: all clusters.")
@options.tables
@options.time_option("--from", "from_ms", text="Only rows that begin at this time or later.")
@options.time_option("--to", "to_ms", text="Only rows that begin before this time.")
@options.path(
    "--docs",
    metavar="DIR",
    text="Write Data Docs to this folder. Those pages load style sheets from the network.",
)
@summarised()
@configured
def check(
    invocation: Invocation,
    /,
    lake: str | None,
    hand_out: HandOut,
    **limits: Any,
) -> int:
    """Check the tables of a lake.

    Runs the checks declared in the schema of each table, and appends the outcomes to meta.checks.
    """
    config = invocation.config_of_lake({"lake.path": lake}, "quality")
    from rebalance_audit.cli import spark  # noqa: PLC0415 - imports Spark

    with progress() as on_progress:
        report = spark.check_once(config, on_progress, **limits)
    hand_out(shape(config.lake.path, report), summary(config.lake.path, report))
    return exit_codes.CHECK_FAILED if report.failed else exit_codes.DONE


def summary(lake: str, report: "CheckReport") -> str:
    """What was found, for people: the broken expectations first, each with the keys to look at."""
    outcomes = report.outcomes
    lines = [f"Check {report.check_id} of {lake}"]
    for result in report.broken:
        lines += _lines(result)
    counts = [words.counted(len(report.results), "expectation"), f"{outcomes['held']} held"]
    counts += [f"{outcomes['broken']} broken"] if outcomes["broken"] else []
    counts += [f"{outcomes['passed_over']} skipped"] if outcomes["passed_over"] else []
    lines.append(f"{counts[0]}: {', '.join(counts[1:])}.")
    reasons = {
        f"{result.table}: {result.detail}"
        for result in report.results
        if result.outcome == "passed_over"
    }
    lines += [f"  skipped: {reason}" for reason in sorted(reasons)]
    if report.broken:
        lines.append(f"All keys that were noted: meta.checks, check_id = '{report.check_id}'.")
    return "\n".join(map(visible, lines))


def _lines(result: "CheckResult") -> list[str]:
    assert result.unexpected_count is not None
    assert result.rows_checked is not None
    version = "" if result.table_version is None else f", version {result.table_version}"
    rows = words.counted(result.unexpected_count, "row")
    lines = [
        f"{result.severity.upper()} {result.expectation}",
        f"  {rows} of {result.rows_checked:,} in {result.table}{version}"
        + (f"; the first: {result.detail}" if result.detail else ""),
    ]
    lines += [f"  look at {key}" for key in result.sample_keys[:KEYS_SHOWN]]
    if result.unexpected_count > KEYS_SHOWN:
        lines.append(f"  … and {result.unexpected_count - KEYS_SHOWN:,} more")
    return lines


def shape(lake: str, report: "CheckReport") -> dict[str, Any]:
    """The object of --json: all counts, and what did not hold."""
    return {
        "check_id": report.check_id,
        "lake": lake,
        "success": not report.failed,
        "expectations": {
            outcome: report.outcomes[outcome] for outcome in ("held", "broken", "passed_over")
        },
        "broken": [_broken(result) for result in report.broken],
        "passed_over": [
            {"expectation": result.expectation, "why": result.detail}
            for result in report.results
            if result.outcome == "passed_over"
        ],
        "table_versions": {
            result.table: result.table_version
            for result in report.results
            if result.table_version is not None
        },
    }


def _broken(result: "CheckResult") -> dict[str, Any]:
    columns = ("expectation", "table", "kind", "severity", "rows_checked", "unexpected_count")
    return {
        **{name: getattr(result, name) for name in columns},
        "sample_keys": list(result.sample_keys),
        "detail": result.detail,
        "table_version": result.table_version,
    }
