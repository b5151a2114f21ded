"""How the tables of a lake are written, and where: `[lake]` of the configuration."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rebalance_audit.errors import BadRequest
from rebalance_audit.lake.storage.table_writer import WriterKind
from rebalance_audit.location import is_catalog, local_path

AUTO: Final = "auto"
_ENCODED: Final = re.compile(r"%[0-9A-Fa-f]{2}")
WriterChoice: TypeAlias = Literal["auto", "delta-rs", "spark"]


@dataclass(frozen=True, slots=True)
class LakeOptions:
    """See `conf/base.toml`."""

    writer: WriterChoice = AUTO
    stage_folder: str = ""
    """Empty: beside the tables."""
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of fsspec for the stage's storage."""
    delta_rs_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of delta-rs for the lake's storage."""


def writer_of(
    spark: SparkSession, lake: str, chosen: WriterChoice, recorded: WriterKind | None
) -> WriterKind:
    """The writer that a lake was made with, as recorded in it, or the one for a new lake.

    Raises BadRequest for another choice: the two do not respect each other's transactions in all cases.
    """
    if chosen == "delta-rs" and is_catalog(lake):
        raise BadRequest(
            f"{lake} is a catalog, and only Spark writes to catalogs: set lake.writer to auto or spark."
        )
    if chosen == "delta-rs" and not is_name_of_delta_rs(lake):
        raise BadRequest(
            f"delta-rs would decode the percent signs in {lake}: set lake.writer to auto or spark."
        )
    if recorded is not None:
        if chosen not in {AUTO, recorded}:
            raise BadRequest(
                f"The lake {lake} was made with the writer {recorded}, but lake.writer is {chosen}. A lake keeps its"
                " writer: set lake.writer to auto."
            )
        return recorded
    if chosen != AUTO:
        return chosen
    is_local = not is_catalog(lake) and local_path(lake) is not None and is_name_of_delta_rs(lake)
    return "delta-rs" if is_local and is_one_machine(spark) else "spark"


def is_name_of_delta_rs(lake: str) -> bool:
    """Whether delta-rs finds the folder: it takes `%20` for a blank, also in a path."""
    return not _ENCODED.search(lake)


def is_one_machine(spark: SparkSession) -> bool:
    """Whether the session's tasks run on this machine; those of a Spark Connect server may run on any."""
    return not is_remote() and (spark.conf.get("spark.master", "") or "").startswith("local")
