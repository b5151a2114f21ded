"""Findings that count: storms, loops, flapping members, deploys, fights over an instance id."""

import itertools

from tests.audit.findings.stories import Write, findings, only, pick

CREATED = (0, "2 1 range A=0-2 B=3-5")


def generations(names: list[str], every_ms: int, start: int = 2) -> list[Write]:
    """One classic generation per set of members."""
    writes = []
    for number, members in enumerate(names):
        shares = " ".join(
            f"{member}={3 * slot}-{3 * slot + 2}" for slot, member in enumerate(members.split(","))
        )
        writes.append((every_ms * (number + 1), f"2 {start + number} range {shares}"))
    return writes


def test_a_storm_is_many_epochs_in_a_short_time() -> None:
    """Thirty epochs in ten minutes are a storm with its causes counted; the same number in a day is not."""
    fresh = [f"A,M{number}" for number in range(40)]
    row = only(findings(CREATED, *generations(fresh, 5_000)), "rebalance_storm")
    assert pick(row, "severity", "from_at", "to_at") == ("warning", 0, None)
    assert row["detail"].startswith("41 epochs began within 3 min 20 s; their causes:")
    assert len(row["evidence"]) == 12
    assert "rebalance_storm" not in findings(CREATED, *generations(fresh, 30_000))


def test_the_start_of_many_members_is_no_storm() -> None:
    """Each of forty members has a generation of its own within eight seconds."""
    started = [",".join(f"M{number}" for number in range(count)) for count in range(1, 41)]
    assert "rebalance_storm" not in findings(*generations(started, 200, start=1))


def test_slow_cycles_are_found() -> None:
    """A client that returns every six minutes, metadata that flap every ninety seconds, a contested instance id."""
    flaps = [name for number in range(8) for name in ("A", f"A,B{number}")]
    assert "flapping_member" in findings(CREATED, *generations(flaps, 180_000))
    assert "rebalance_loop" in findings(CREATED, *generations(["A,B"] * 6, 90_000))
    assert "instance_id_conflict" in findings(*takeovers(180_000))


def test_random_churn_is_no_deploy() -> None:
    """Members that come and go again do not restart in turn."""
    churn = ["A,B,C", "B,C", "B,C,D", "C,D", "C,D,E", "C,E", "C,E,F", "E,F", "E,F,G"]
    assert "deploy_wave" not in findings(*generations(churn, 5_000, start=1))


def test_a_storm_that_passes_has_an_end() -> None:
    """It ends with its last epoch once the next one is far away."""
    fresh = [f"A,M{number}" for number in range(40)]
    calm = (20_000_000, "2 99 range A=0-5")
    row = only(findings(CREATED, *generations(fresh, 5_000), calm), "rebalance_storm")
    assert pick(row, "from_at", "to_at") == (0, 200_000)


def test_a_loop_is_one_cause_again_and_again() -> None:
    """Generation after generation with the same members: a loop; with pauses of minutes it is none."""
    same = ["A,B"] * 6
    row = only(findings(CREATED, *generations(same, 9_000)), "rebalance_loop")
    assert pick(row, "from_at", "to_at") == (9_000, None)
    assert "6 epochs in a row" in row["detail"]
    assert "one every 9.0 s" in row["detail"]
    assert findings(CREATED, *generations(same, 600_000)) == {}


def test_a_loop_of_mixed_subscriptions_says_so() -> None:
    """Members that do not subscribe to the same topics are named as the probable reason."""
    writes = [
        (9_000 * number, f"2 {number} range A=0-2 B=bar:0 topics:B=bar") for number in range(1, 8)
    ]
    detail = only(findings(*writes), "rebalance_loop")["detail"]
    assert "do not all subscribe to the same topics" in detail


def test_comings_and_goings_end_a_loop() -> None:
    """Five generations with one cause are a loop only when no member came or went between them."""
    broken = ["A,B", "A,B", "A,B,C", "A,B,C", "A,B,C"]
    assert "rebalance_loop" not in findings(CREATED, *generations(broken, 9_000))


def test_a_client_that_keeps_coming_back() -> None:
    """A dynamic client gets a new member id each time; its client id and host show that it is the same."""
    flaps = [name for number in range(8) for name in ("A", f"A,B{number}")]
    row = only(
        findings((0, "2 1 range A=0-2 B=3-5"), *generations(flaps, 20_000)), "flapping_member"
    )
    assert "Client client on host left and returned" in row["detail"]
    once = generations(["A", "A,B1"], 20_000)
    assert findings(CREATED, *once) == {}


def test_a_rolling_restart_of_many_members_of_one_client_is_no_flapping() -> None:
    """Each of four members of the same client id returns once: no single one flaps."""
    roll = [
        ",".join(f"{'N' if slot < number else 'O'}{slot}" for slot in range(4))
        for number in range(5)
    ]
    assert "flapping_member" not in findings(*generations(roll, 20_000, start=1))


def test_a_deploy_and_what_would_have_spared_it() -> None:
    """All members replaced one by one: what instance ids and a cooperative assignor would have saved is computed."""
    steps = ["O1,O2,O3"] * 4
    for gone, new in itertools.pairwise(["O1,O2,O3", "N1,O2,O3", "N1,N2,O3", "N1,N2,N3"]):
        steps += [",".join(set(gone.split(",")) & set(new.split(","))), new]
    steps = [",".join(sorted(step.split(","), key=lambda name: name[1])) for step in steps]
    row = only(findings(*generations(steps, 10_000, start=1)), "deploy_wave")
    assert pick(row, "severity", "from_at", "to_at") == ("info", 50_000, 100_000)
    assert (
        "3 of 3 members named client… left and 3 joined within 50.0 s; it took 6 epochs"
        in row["detail"]
    )
    assert "With static membership 0 of 3 restarts would have needed no rebalance" in row["detail"]
    assert "cooperative assignor (assumption" in row["detail"]
    assert row["advice"].startswith("Use a cooperative assignor")
    quick = only(findings(*generations(steps, 3_000, start=1)), "deploy_wave")
    assert "membership 3 of 3 restarts" in quick["detail"]
    assert quick["advice"].startswith("Give the members instance ids")


def test_one_restart_is_no_deploy() -> None:
    """A minority that is replaced is no wave, nor is a group that only grows."""
    one = generations(["A,B,C,D,E", "A,B,C,D", "A,B,C,D,F"], 5_000, start=1)
    grown = generations(["A", "A,B", "A,B,C", "A,B,C,D"], 5_000, start=1)
    two_of_three = generations(["A,B,C", "A", "A,D,E"], 5_000, start=1)
    assert findings(*one) == {}
    assert findings(*grown) == {}
    assert findings(*two_of_three) == {}


def takeovers(every_ms: int) -> list[Write]:
    """Five member ids in a row take over one instance id in one generation."""
    return [
        (1000 + every_ms * number, f"2 1 range A{number}@i1=0-2 B@i2=3-5 state_at=900")
        for number in range(6)
    ]


def test_two_processes_with_one_instance_id() -> None:
    """Takeovers in short order are a conflict; the restarts of a deploy now and then are none."""
    row = only(findings(*takeovers(10_000)), "instance_id_conflict")
    assert pick(row, "severity", "from_at", "to_at") == ("warning", 11_000, None)
    assert "Instance i1 changed hands 5 times within 40.0 s" in row["detail"]
    assert findings(*takeovers(600_000)) == {}
