"""A lake that a run has left, and in copies of it whatever may go wrong with its rows: `check` tells of each."""

import json
from collections import defaultdict

import pytest

from tests.quality.judged import SOUND, Judged
from tests.quality.wrongs import WRONGS, Wrong, cluster_of


@pytest.fixture(scope="module")
def told(judged: Judged) -> dict[str, set[str]]:
    """Cluster -> tables whose rows a check points at, but for those that are old."""
    tables = defaultdict(set)
    for result in judged.report.broken:
        if result.kind != "fresh":
            for key in map(json.loads, result.sample_keys):
                tables[key.get("cluster", key.get("run_id"))].add(result.table)
    return tables


@pytest.mark.parametrize("wrong", WRONGS, ids=lambda wrong: wrong.name)
def test_each_wrong_is_told_where_it_shows(told: dict[str, set[str]], wrong: Wrong) -> None:
    """`check` points at rows of the table that is named."""
    assert wrong.told_by in told[cluster_of(wrong)]


def test_nothing_is_told_of_what_a_run_has_left(told: dict[str, set[str]]) -> None:
    """Batches that could not be decoded are a warning of the run that met them."""
    assert told[SOUND] <= {"meta.runs"}
