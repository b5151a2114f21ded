"""`rebalance-audit predict`: answers of `what-if` about the groups of a lake, written to gold.what_if."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import Invocation, bad_arguments, configured
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import progress
from rebalance_audit.cli.script_source import Refused, ScriptSource, script_at
from rebalance_audit.cli.source import lake_of
from rebalance_audit.errors import BadRequest, LakeError, require_known
from rebalance_audit.figures.rows import picked
from rebalance_audit.garbage import collecting_less
from rebalance_audit.sentences import words
from rebalance_audit.visible import shortened, visible
from rebalance_audit.whatif.answer import evaluate
from rebalance_audit.whatif.answer_forms import answer_table_rows, refused_row
from rebalance_audit.whatif.variant import variants_of

if TYPE_CHECKING:
    from rebalance_audit.config import Config
    from rebalance_audit.steps import OnProgress

WORST: Final = 10
EXAMPLES: Final = """\b
Examples:
  rebalance-audit predict --lake /data/lake --cluster blue --from -7d
  rebalance-audit predict --lake /data/lake --group checkout --group billing
"""


@click.command(epilog=EXAMPLES)
@click.option("--lake", metavar="DIR", help="The lake of `run`.")
@options.cluster
@options.groups_of("This group; may be repeated. Default: --worst.")
@click.option(
    "--worst",
    type=click.IntRange(1, 1_000),
    default=WORST,
    show_default=True,
    metavar="N",
    help="The N groups with rebalances in the window that need attention most.",
)
@options.time_option("--from", "from_ms", text="Only what happened at this time or later.")
@options.time_option("--to", "to_ms", text="Only what happened before this time.")
@options.seeds
@summarised()
@configured
def predict(
    invocation: Invocation,
    /,
    lake: str | None,
    cluster: str | None,
    group_ids: tuple[str, ...],
    worst: int,
    from_ms: int | None,
    to_ms: int | None,
    seeds: int | None,
    hand_out: HandOut,
) -> None:
    """Run `what-if` for groups of a lake, and write the answers to gold.what_if.

    For each group a table of sensible changes is tried. An answer replaces an earlier one about the same window. A
    group that cannot be simulated gets a row with the reason.
    """
    flags = {"lake.path": lake, "cluster": cluster}
    config = invocation.config_of_lake(flags, "spark")
    place = lake_of(invocation, config, flags)
    place = place._replace(cluster=place.one_cluster())
    config = config.model_copy(update={"cluster": place.cluster})
    if group_ids:
        from rebalance_audit.readers.gold import group_ids as known_ids  # noqa: PLC0415 - imports Arrow

        with bad_arguments():
            require_known(group_ids, known_ids(config.lake.path, config.cluster))
    sources = [
        ScriptSource(place, group_id, from_ms, to_ms)
        for group_id in group_ids or _worst(config, worst, from_ms, to_ms)
    ]
    with progress() as on_progress:
        answers = [answer_rows(invocation, source, seeds, on_progress) for source in sources]
        rows = [row for answer in answers for row in answer]
        changed = 0
        if rows:
            from rebalance_audit.cli import spark  # noqa: PLC0415 - imports Spark

            changed = spark.write_answers(config, rows, on_progress).rows
    found = [
        {
            **picked(answer[0], "group_id", "refused"),
            "best": next((row["label"] for row in answer if row.get("rank") == 1), None),
        }
        for answer in answers
    ]
    summary = {
        "lake": config.lake.path,
        "cluster": config.cluster,
        "groups": found,
        "rows": len(rows),
        "rows_changed": changed,
    }
    hand_out(summary, "\n".join(_lines(found, len(rows), changed)))


def _worst(config: "Config", worst: int, from_ms: int | None, to_ms: int | None) -> list[str]:
    from rebalance_audit.readers.report_rows import ReportRows  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.readers.tables import open_table  # noqa: PLC0415 - as above

    open_gold = partial(open_table, config.lake.path)
    with closing(ReportRows(open_gold, config.cluster, from_ms, to_ms)) as rows:
        groups = [group for group in rows.ask("groups") if group["rebalances"]]
    return [group["group_id"] for group in groups[:worst]]


def answer_rows(
    invocation: Invocation, source: ScriptSource, seeds: int | None, on_progress: "OnProgress"
) -> list[dict[str, Any]]:
    """The rows of one group, or the one that says why it has no answer: others are not to lose theirs.

    Raises what reading raises, with --debug all.
    """

    def of_group(step: str) -> None:
        on_progress(visible(f"{shortened(source.group_id or '')}: {step}"))

    try:
        script = script_at(source)
        if isinstance(script, Refused):
            sentence = script.sentence
        else:
            with collecting_less():
                changes = variants_of(script)
                answer = evaluate(script, changes, seeds=seeds, ranked=True, on_progress=of_group)
            return [*answer_table_rows(answer)]
    except (click.ClickException, LakeError, OSError):
        raise
    except BadRequest as error:
        sentence = str(error)
    except Exception as error:
        if invocation.debug:
            raise
        sentence = f"Its simulation failed: unexpected {type(error).__name__}: {error}."
    return [refused_row(source.group_id or "", sentence, source.from_ms, source.to_ms)]


def _lines(found: list[dict[str, Any]], rows: int, changed: int) -> Iterator[str]:
    for group in found:
        what = group["refused"] or f"{group['best']} loses least"
        yield visible(f"{shortened(group['group_id'])}: {what}")
    if left_out := sum(group["refused"] is not None for group in found):
        yield f"{left_out:,} of {words.counted(len(found), 'group')} could not be predicted."
    yield f"{words.counted(rows, 'row')} of gold.what_if, {changed:,} of them changed."
