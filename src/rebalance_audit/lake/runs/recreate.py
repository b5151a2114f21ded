"""`maintain --recreate`: copies the tables of a lake into new ones, made as this release makes them.

Tables of earlier releases are clustered. Delta cannot drop that feature from a table, and delta-rs does not write such
tables. The new ones have other table ids, and their history and change feed start again.

The copies are made beside the tables and replace them once all are complete. If it is killed at any point, running it
again finishes the job; while only some tables are replaced, no run writes to the lake.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import BadRequest, LakeNotReadable
from rebalance_audit.lake.bronze.ledger import Ledger
from rebalance_audit.lake.runs.lake_clusters import clusters_of
from rebalance_audit.lake.runs.progress import marks_of_tables
from rebalance_audit.lake.storage.lake_options import writer_of
from rebalance_audit.lake.storage.table_writer import TableChange
from rebalance_audit.lake.storage.tables import COMPLETE, RECREATED, Lake
from rebalance_audit.location import is_catalog, local_path
from rebalance_audit.steps import OnProgress
from rebalance_audit.tables.schemas import TableName, table_schemas

REPLACED: Final = "meta/.replaced"
"""Where the old tables wait to be removed."""
CONSEQUENCES: Final = (
    "Each table is copied into a new one: table ids change, history and change feed start again, and readers of"
    " changes must start over. Meanwhile the lake takes three times its space."
)


def recreate(lake: Lake, run_id: str, on_progress: OnProgress) -> list[str]:
    """Recreate all tables; returns their names. Nothing else may write into the lake meanwhile.

    Raises BadRequest, see `recreatable`.
    """
    folder = recreatable(lake)
    copies = folder / RECREATED
    if not (copies / COMPLETE).exists():
        shutil.rmtree(copies, ignore_errors=True)
        kind = writer_of(lake.spark, lake.path, lake.options.writer, None)
        new = Lake(lake.spark, str(copies), replace(lake.options, writer=kind))
        _copy(lake, new, run_id, on_progress)
        (copies / COMPLETE).touch()
    on_progress("putting the new tables in place")
    _put_in_place(folder)
    return lake.existing(table_schemas())


def recreatable(lake: Lake) -> Path:
    """The lake's folder.

    Raises BadRequest for a lake elsewhere, and for one with records that no run of this release has audited: what is
    new in bronze is known by versions of the old table.
    """
    folder = None if is_catalog(lake.path) else local_path(lake.path)
    if folder is None:
        raise BadRequest(
            f"{lake.path} is not a folder on this machine: its tables cannot be recreated."
        )
    if not (folder / RECREATED / COMPLETE).exists():
        for cluster in clusters_of(lake):
            if _has_news(lake, cluster):
                raise BadRequest(
                    f"{lake.path} may have records of cluster {cluster} that no run of this release has audited: run"
                    " `rebalance-audit run` first."
                )
    return folder


def _has_news(lake: Lake, cluster: str) -> bool:
    """Whether bronze has, or may have, records that an ingest has not noted or a run has not audited."""
    if lake.version(TableName.RECORDS) is None:
        return False
    if lake.version(TableName.INGESTED) is not None:
        noted = lake.few_rows(TableName.INGESTED, cluster, ("partition", "records"))
        found = Ledger(lake, cluster).partitions
        if {row["partition"]: row["records"] for row in noted} != {
            number: part.records for number, part in found.items()
        }:
            return True
    audited = lake.few_rows(TableName.PROGRESS, cluster, ("bronze_version", "table_ids"))
    if any(None in row.values() for row in audited):
        return True  # of an earlier release
    versions = {row["bronze_version"] for row in audited}
    now = lake.version(TableName.RECORDS) or 0
    try:
        return any(
            not lake.added(TableName.RECORDS, version, now).where(_is_of(cluster)).isEmpty()
            for version in versions
            if version < now
        )
    except (LakeNotReadable, PySparkException):
        return True  # the change feed no longer reaches back


def _is_of(cluster: str) -> Column:
    return F.col("cluster") == cluster


def _copy(old: Lake, new: Lake, run_id: str, on_progress: OnProgress) -> None:
    names = old.existing(table_schemas())
    for name in names:
        _require_values(old, name)
    new.create(names)
    # The last two name versions and ids of the others.
    last = (TableName.INGESTED, TableName.PROGRESS)
    for name in sorted(names, key=lambda name: (name in last, name)):
        on_progress(f"{name}: copying")
        schema = table_schemas()[name]
        there = old.read(name)
        rows = there.select(
            *(
                F.col(column.name)
                if column.name in there.columns
                else F.lit(None).cast(column.type).alias(column.name)
                for column in schema.columns
            )
        )
        if name in last:
            rows = rows.withColumns(_references(new, name))
        with new.staging(run_id):
            staged = new.stage.put(rows, schema.column_types)
            new.writer.append(schema, staged, TableChange(run_id, "", new.version(name) or 0))


def _require_values(lake: Lake, name: str) -> None:
    """Raises BadRequest for rows of an earlier release without a value that is required today."""
    rows = lake.read(name)
    may_lack = {field.name for field in rows.schema if field.nullable}
    wanted = [column.name for column in table_schemas()[name].columns if not column.nullable]
    lacking = [column for column in wanted if column in may_lack or column not in rows.columns]
    if (
        lacking
        and not rows.where(
            " OR ".join(f"`{column}` IS NULL" for column in lacking if column in rows.columns)
            or "true"
        ).isEmpty()
    ):
        raise BadRequest(
            f"{name} has rows of an earlier release without {', '.join(lacking)}: run"
            " `rebalance-audit run --full` first."
        )


def _references(new: Lake, name: str) -> dict[str, Column]:
    """Columns of meta.ingested and meta.progress that refer to other tables, as of the new ones."""
    marks = marks_of_tables(new)
    bronze = marks[TableName.RECORDS]
    version = F.lit(bronze.version).cast("bigint")
    if name == TableName.INGESTED:
        return {"bronze_version": version, "bronze_commit": F.lit(bronze.made_by)}

    def of_tables(values: Sequence[object], kind: str) -> Column:
        return F.map_from_arrays(
            F.array(*map(F.lit, marks)), F.array(*(F.lit(value).cast(kind) for value in values))
        )

    return {
        "bronze_version": version,
        "table_versions": of_tables([mark.version for mark in marks.values()], "bigint"),
        "table_commits": of_tables([mark.made_by for mark in marks.values()], "string"),
        "table_ids": of_tables([mark.table_id for mark in marks.values()], "string"),
    }


def _put_in_place(folder: Path) -> None:
    """Replace the tables by their copies; may be repeated."""
    copies, replaced = folder / RECREATED, folder / REPLACED
    for name in table_schemas():
        table = name.replace(".", "/")
        if (copies / table).exists():
            if (folder / table).exists():
                (replaced / table).parent.mkdir(parents=True, exist_ok=True)
                (folder / table).rename(replaced / table)
            (copies / table).rename(folder / table)
    shutil.rmtree(replaced, ignore_errors=True)
    shutil.rmtree(copies)
