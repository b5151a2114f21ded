"""What must hold of the audit on every log, tried on a few; `make accuracy` tries it on as many as one likes."""

import json
from pathlib import Path

import pytest

from workshop.accuracy import simulated
from workshop.accuracy.__main__ import main
from workshop.accuracy.damage import DAMAGES
from workshop.accuracy.end_tables import densities_table
from workshop.accuracy.figures import proven_and_wrong
from workshop.accuracy.simulated import dense_tally_of_seed, ordinary_tally_of_seed, tally_of_seed
from workshop.accuracy.sweeps import new_in_sweeps, note_new, sweep_of_seed
from workshop.accuracy.tally import Measure, Tally, merged
from workshop.accuracy.verdicts import judge_epoch

pytestmark = pytest.mark.swarm

SEEDS = (12, 25, 31, 54, 75)
"""Seeds with static members under the same id, expressions, conversions in both directions, and all protocols."""


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The comparison of a few seeds."""
    return merged(tally_of_seed(seed, 2) for seed in SEEDS)


def test_nothing_proven_is_wrong(tally: Tally) -> None:
    """With and without brokers' logs, compacted or not."""
    assert tally.next_names("claim")
    assert proven_and_wrong(tally) == 0, tally.examples["proven and wrong"]


def test_every_epoch_has_its_row_and_no_row_is_made_up(tally: Tally) -> None:
    """In a log that is all there."""
    assert not tally.next_names("missing", simulated.WHOLE), tally.examples["epoch without row"]
    assert not tally.next_names("invented"), tally.examples["row without epoch"]


@pytest.mark.parametrize(("protocol", "least"), [("consumer", 95), ("classic", 70)])
def test_the_true_cause_is_found(tally: Tally, protocol: str, least: int) -> None:
    """As the primary cause, unless that just took part, and as a named one in nearly all epochs.

    A classic group's records do not separate what began a join phase from what happened in it.
    """
    epochs = tally.get("epochs", simulated.WHOLE, protocol, "complete")
    right = tally.get("right", simulated.WHOLE, protocol, "complete", "primary")
    beside = tally.get("right", simulated.WHOLE, protocol, "complete", "beside")
    named = tally.get("right", simulated.WHOLE, protocol, "complete", "named")
    assert epochs > 20
    assert 100 * right >= least * epochs
    assert 100 * (right + beside) >= 90 * epochs
    assert 100 * named >= 99 * epochs


@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        ("consumer", "started_at"),
        ("consumer", "target_installed_at"),
        ("consumer", "converged_at"),
        ("consumer", "member reached_at"),
        ("classic", "started_at"),
        ("classic", "converged_at"),
        ("classic", "sync_ms"),
    ],
)
def test_times_equal_the_truth(tally: Tally, protocol: str, name: str) -> None:
    """Exactly, by the coordinator's clock."""
    errors = tally.errors[Measure(simulated.WHOLE, protocol, name)]
    assert errors.equal > 20
    assert (errors.worst_ms(), errors.missing, errors.invented) == (0, 0, 0)


def test_bounds_hold_the_truth_and_ownership_equals_it(tally: Tally) -> None:
    """The start of a classic join phase lies between its bounds; who held what is exact at both ends."""
    assert tally.get("bounds", simulated.WHOLE, "hold the truth")
    assert not tally.get("bounds", simulated.WHOLE, "miss the truth"), tally.examples["bounds"]
    assert tally.get("ownership", simulated.WHOLE, "equal") > 100
    assert not tally.examples["ownership"]


@pytest.mark.parametrize(
    ("seed", "what"),
    [
        (30_157, "a join between the write of the record before and its stamp"),
        (50_074, "a fail-over behind a downgrade"),
        (
            50_136,
            "a static member that returns and so downgrades the group, the last to reach its epoch",
        ),
        (50_209, "a static member that returns and so upgrades the group"),
        (50_466, "an upgrade of generation 0"),
        (50_732, "a join in the millisecond in which the last member went"),
        (80_128, "an upgrade in a join phase without members"),
        (100_327, "the same in release 4.0"),
    ],
)
def test_rare_events_are_reported_as_they_happened(seed: int, what: str) -> None:
    """Many groups and faults: the truth and the audit agree on every time, every end that is proven, every epoch."""
    found = dense_tally_of_seed(seed, 3)
    wrong = [
        *("bounds", "ownership", "proven and wrong", "member end proven and wrong"),
        *("epoch without row", "row without epoch"),
    ]
    assert {kind: found.examples[kind] for kind in wrong if found.examples[kind]} == {}, what
    if found.next_names("bounds") == [simulated.APPEND_TIME]:
        return  # times that the append stamps come late
    off = {measure: errors for measure, errors in found.errors.items() if errors.off}
    off.pop(Measure(simulated.WHOLE, "client", "use began behind the record"), None)
    assert off == {}, what


def test_members_that_a_downgrade_takes_along_have_not_left() -> None:
    """Their records are gone, and with the broker's log beside them no member is said to have left."""
    found = tally_of_seed(220_019, 3)
    assert found.next_names("claim", simulated.WITH_BROKER_LOG, "classic")
    assert not proven_and_wrong(found), found.examples["proven and wrong"]
    assert not found.examples["member end proven and wrong"]


def test_ordinary_clusters_are_counted_apart_with_their_faults(tally: Tally) -> None:
    """Members that committed end there too, at a rate that the page shows beside that of the other clusters."""
    found = merged([tally, ordinary_tally_of_seed(986_002, 4)])
    head, *rows = densities_table(found)
    faults = {row[0]: int(row[head.index("faults a day in each group")]) for row in rows}
    assert faults[simulated.ORDINARY] == simulated.ORDINARY_FAULTS
    assert faults[simulated.WHOLE] > 4 * simulated.ORDINARY_FAULTS
    assert all(int(row[head.index("ends")]) for row in rows)
    assert found.get("density", simulated.ORDINARY, "clusters") == 1
    assert not proven_and_wrong(found)


def test_the_command_prints_counts_of_captures_and_seeds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One process, one seed, one capture: the same figures as JSON and on the page."""
    monkeypatch.setattr("workshop.accuracy.__main__.capture_names", lambda: ["failover"])
    page = tmp_path / "accuracy.md"
    asked = ["--seeds", "1", "--from", "12", "--minutes", "1", "--workers", "1", "--json"]
    asked += ["--sweeps", "0", "--ordinary", "0", "--plays", "0"]
    assert main([*asked, "--page", str(page)]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["proven_and_wrong"] == 0
    assert {"what": ["captures", "captures"], "times": 1} in summary["counts"]
    assert "make accuracy SEEDS=1 FROM=12 MINUTES=1" in page.read_text("utf-8")


def test_a_damaged_log_proves_nothing_that_the_whole_one_does_not_show() -> None:
    """Lost and cleaned records, times that fall together, groups in another order, a clock that goes back."""
    found = sweep_of_seed(12, 1, 3)
    kinds = found.next_names("sweep")
    assert set(kinds) == {*DAMAGES, "none"}
    assert all(found.get("sweep", kind, "proven") for kind in DAMAGES)
    assert not found.get("sweep", "none", "marked"), "the log is whole"
    assert not any(found.get("sweep", kind, "negative") for kind in kinds)
    assert not new_in_sweeps(found), {kind: found.examples[f"sweep {kind}"] for kind in kinds}


def cause(name: str, role: str, certainty: str = "proven") -> dict[str, object]:
    """A row of gold.rebalance_causes, as far as it is judged."""
    return {"cause": name, "cause_seq": 0, "role": role, "certainty": certainty, "alternatives": []}


@pytest.mark.parametrize(
    ("role", "wrong", "beside"), [("meanwhile", 0, 0), ("began", 0, 1)], ids=["said so", "began it"]
)
def test_what_happened_meanwhile_is_right_where_the_audit_says_so(
    role: str, wrong: int, beside: int
) -> None:
    """A departure in a join phase that a join began: no cause of the generation."""
    tally = Tally()
    epoch = {"protocol": "classic", "completeness": "complete"}
    claims = [cause("member_joined", "began"), cause("member_left", role)]
    judge_epoch(tally, "s", epoch, claims, ["member_joined"], "here", meanwhile=["member_left"])
    of_claim = ("claim", "s", "classic", "member_left", "proven")
    assert (tally.get(*of_claim, "wrong"), tally.get(*of_claim, "beside")) == (wrong, beside)


def test_claims_that_only_a_damaged_log_makes_are_named() -> None:
    """The sweep says which log, which damage and where."""
    tally = Tally()
    whole = {("g", 2, "member_left")}
    note_new(tally, "lost write", "seed 1 at offset 7", {("g", 2, "member_joined")}, whole)
    assert new_in_sweeps(tally) == 1
    assert tally.examples["sweep lost write"] == [
        "seed 1 at offset 7: g epoch 2: member_joined (proven), in the whole log ['member_left']"
    ]
