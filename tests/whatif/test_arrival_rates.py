"""How many records arrive, by the offsets that owners committed, and how many a run delays."""

from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from rebalance_audit.whatif.group_rows import GroupRows
from rebalance_audit.whatif.history import arrivals_of, logged, rate_of
from rebalance_audit.whatif.script import ArrivalRates, LoggedDelay, ProcessEnd
from rebalance_audit.whatif.script_run import ScriptRun
from tests.whatif.paired import Paired, paired
from tests.whatif.scripts import CLASSIC, at, instance, script


@pytest.fixture(scope="module")
def churn() -> Paired:
    """Five groups to which the same happened."""
    return paired("paired-churn-a")


def stretch(
    number: int, first: tuple[int, int] | None, last: tuple[int, int | None] | None
) -> dict[str, Any]:
    """A row of gold.ownership: (second, offset) of the first and the last commit of an owner."""
    first_s, first_offset = first or (None, None)
    last_s, last_offset = last or (None, None)
    return {
        "topic": "orders",
        "topic_partition": number,
        "first_committed_at": None if first_s is None else first_s * 1_000,
        "last_committed_at": None if last_s is None else last_s * 1_000,
        "first_committed_offset": first_offset,
        "last_committed_offset": last_offset,
    }


@pytest.mark.parametrize(
    ("stretches", "rate"),
    [
        ([((0, 100), (10, 200))], 10.0),
        ([((0, 100), (10, 200)), ((30, 400), (40, 500))], 10.0),  # what waited in between counts
        ([((0, 100), (10, 200)), ((20, 0), (30, 50))], 7.5),  # a reset to lower offsets does not
        ([((0, 100), (10, 100))], 0.0),
        ([((0, 100), (10, 200)), ((200, 9_000), (210, 9_999))], 10.0),  # after the window
        ([(None, (10, 200)), ((30, 400), (40, 500))], 10.0),  # compaction took the first commit
        ([((0, 100), (0, 100))], None),
    ],
)
def test_the_rate_of_a_partition_follows_from_its_committed_offsets(
    stretches: list[tuple[Any, Any]], rate: float | None
) -> None:
    """Records per second between the first commit and the last one, over all owners."""
    found = arrivals_of([stretch(0, *each) for each in stretches], 0, 100_000)
    assert found.rates == ({} if rate is None else {"orders": [rate]})
    assert (found.unknown is None) == (rate is not None)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (stretch(0, None, None), "No owner committed a partition"),
        (stretch(0, None, (2, None)), "earlier release"),
        (stretch(0, (1, 5), (1, 5)), "committed only once"),
    ],
)
def test_where_no_rate_is_known_a_sentence_says_why(row: dict[str, Any], words: str) -> None:
    """No commit, a lake without the columns, or one commit only."""
    assert words in (arrivals_of([row], 0, 100_000).unknown or "")


def test_a_partition_without_a_rate_counts_with_the_mean_of_its_topic() -> None:
    """Also one that is added later; a topic without any rate counts with the mean of all."""
    rates: ArrivalRates = {"orders": [1.0, None, 3.0], "idle": [0.0]}
    found = [rate_of(rates, "orders", number) for number in range(4)]
    assert found == [1.0, 2.0, 3.0, 2.0]
    assert rate_of(rates, "other", 0) == pytest.approx(4 / 3)
    assert rate_of({}, "orders", 0) == 0.0


def test_a_run_counts_what_arrives_while_partitions_have_no_owner() -> None:
    """Each partition at its own rate: only the one with records counts, for the hour that the group is down."""
    down = script(instance("pod-0", (100, ProcessEnd.CLOSED, 3_700)), seconds=7_200)
    one = replace(down, rates={"orders": [2.0, *[0.0] * 11]})
    found = ScriptRun(one, CLASSIC, 0).run()
    assert 2 * 3_600 <= found.records_delayed <= 2 * 3_610
    assert ScriptRun(down, CLASSIC, 0).run().records_delayed == 0


def test_the_log_says_the_same_of_rebalances_in_the_window() -> None:
    """Sums of what the audit says of each; bounds need samples of end offsets in every partition."""
    rows = _rows(
        {"partitions_stopped": 2, "estimate": 40, "min": 30, "max": 50},
        {"partitions_stopped": 1, "estimate": 2, "min": None, "max": None},
        {"partitions_stopped": None, "estimate": None, "min": None, "max": None},
    )
    rates: ArrivalRates = {"orders": [1.0]}
    sampled = rows._replace(rebalances=rows.rebalances[:1])
    window = at(0).low, at(600).low
    assert logged(rows, [], *window, rates).delayed == LoggedDelay(42, 30, None)
    assert logged(sampled, [], *window, rates).delayed == LoggedDelay(40, 30, 50)
    assert logged(rows, [], *window, {}).delayed is None


def _rows(*rebalances: dict[str, Any]) -> GroupRows:
    rows = [
        {
            "started_at": at(100).low,
            "started_at_earliest": None,
            "partitions_stopped": each["partitions_stopped"],
            **{f"records_delayed_{name}": each[name] for name in ("estimate", "min", "max")},
        }
        for each in rebalances
    ]
    return GroupRows("checkout", [], [], [], [], [], [], [], rows, "classic", None)


@pytest.mark.parametrize("group_id", ["same-eager", "same-coop", "same-848"])
def test_siblings_show_the_same_rate_under_every_protocol(churn: Paired, group_id: str) -> None:
    """Each partition got a record every two seconds; the groups read all of it, with different stops."""
    of = churn.script(group_id)
    known = [each for rates in of.rates.values() for each in rates if each is not None]
    assert len(known) >= 20
    assert median(known) == pytest.approx(0.5, rel=0.06)
    found = ScriptRun(of, of.settings, 0).run()
    assert found.records_delayed == pytest.approx(found.unowned_ms / 2_000, rel=0.1)
