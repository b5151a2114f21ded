"""The first lines of `explain` against what brokers logged and clients wrote down (tests/golden/PROVENANCE.md)."""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from rebalance_audit.demo_log import extract_to
from rebalance_audit.figures.ranking import longest_of
from rebalance_audit.figures.rows import duration_of, is_classic, rank_of
from rebalance_audit.report.causes import label
from rebalance_audit.report.explanation import explain_epoch
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.verdict import held_up_of
from tests.cli.audited import audited_once
from tests.cli.call import CAPTURES, call
from workshop.accuracy.captured import NO_LINE, SAME_THING

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Log = Callable[[Path], Path]

DEMO: Final = CAPTURES.parent / "demo"
ALL: Final = [*sorted(CAPTURES.iterdir()), DEMO]
LOGGED: Final = [folder for folder in ALL if list(folder.glob("server*.log*"))]
UNSEEN_IN_RECORDS: Final = {"leader_rejoined", "subscription_changed"}
"""What begins a classic join phase and may leave no difference: nothing but the broker's log names the member."""
OPEN_IN_RECORDS: Final = {"member_left", "member_session_expired"}
"""How a member went; where times do not decide, the audit says `member departed`."""
WORST: Final = 10
SHARE_PERCENT: Final = 25
LONG_MS: Final = 1000

ENDS: Final = {
    "kill9": {"start"},
    "died": {"start"},
    "sigstop": {"sigcont"},
    "revoked": {"revoke_done"},
    "poll_stall_begin": {"poll_stall_end"},
}
"""What keeps a client from answering -> what ends it."""


@pytest.fixture(scope="module")
def log_of(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Folder with the truth -> the log that it is about."""
    demo = extract_to(tmp_path_factory.mktemp("demo"))
    return lambda folder: demo if folder == DEMO else folder / "segments"


def rows_of(path: Path) -> Iterator[Row]:
    """Rows of a file of JSON lines, packed or not."""
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def reasons_of(folder: Path) -> dict[tuple[str, int], list[Row]]:
    """What the broker logged as reasons, by group and epoch; without those for which it had no words."""
    [path] = folder.glob("truth.jsonl*")
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows_of(path):
        if row["epoch"] is not None:
            found[row["group"], row["epoch"]].append(row)
    return {
        key: rows
        for key, rows in found.items()
        if not any(row["cause"] == "unknown" or NO_LINE in row.get("reason", "") for row in rows)
    }


def names_them(text: str, reasons: Iterable[Row]) -> bool:
    """Whether the text has the cause and the members of one of the reasons."""
    for reason in reasons:
        named = set(reason["cause"].split("|"))
        causes = named.union(*(SAME_THING.get(cause, set()) for cause in named))
        if named & OPEN_IN_RECORDS:
            causes.add("member_departed")
        members = [each.strip() for each in (reason.get("member_id") or "").split(",")]
        if any(label(cause) in text for cause in causes) and all(who in text for who in members):
            return True
    return False


def of_group(tables: Tables, group_id: str) -> Tables:
    """The rows of one group."""
    return {
        name: [row for row in rows if row.get("group_id") == group_id]
        for name, rows in tables.items()
    }


def with_one_life(tables: Tables) -> Iterator[Tables]:
    """The rows of each group whose numbers do not come twice."""
    for group_id in sorted({row["group_id"] for row in tables["epochs"]}):
        own = of_group(tables, group_id)
        if all(row["incarnation"] == 0 for row in own["epochs"]):
            yield own


def test_brokers_reasons_stand_in_the_first_lines_of_every_epoch(log_of: Log) -> None:
    """With the brokers' logs: all but those that the audit itself calls no more than probable."""
    compared = 0
    for folder in LOGGED:
        reasons = reasons_of(folder)
        logs = sorted(folder.glob("server*.log*"))
        for own in with_one_life(audited_once(log_of(folder), broker_logs=logs).tables):
            for epoch in own["epochs"]:
                its_reasons = reasons.get((epoch["group_id"], epoch["epoch"]))
                if its_reasons is None:
                    continue
                explained = explain_epoch(own, epoch, None)
                lines = [explained.heading, *explained.sections[0].sentences[:2]]
                assert names_them(" ".join(lines), its_reasons), (folder.name, lines, its_reasons)
                compared += 1
    assert compared > 250


def test_reasons_stand_in_the_first_lines_without_brokers_logs(log_of: Log) -> None:
    """From records alone: all but those that leave no difference between two classic generations."""
    compared = 0
    for folder in ALL:
        reasons = reasons_of(folder)
        for own in with_one_life(audited_once(log_of(folder)).tables):
            for epoch in own["epochs"]:
                its_reasons = reasons.get((epoch["group_id"], epoch["epoch"]))
                if its_reasons is None or epoch["completeness"] == "gap":
                    continue
                if is_classic(epoch) and {row["cause"] for row in its_reasons} & UNSEEN_IN_RECORDS:
                    continue
                explained = explain_epoch(own, epoch, None)
                lines = [explained.heading, *explained.sections[0].sentences[:2]]
                assert names_them(" ".join(lines), its_reasons), (folder.name, lines, its_reasons)
                compared += 1
    assert compared > 350


@pytest.mark.parametrize("folder", LOGGED, ids=lambda folder: folder.name)
def test_explain_begins_with_the_reason_of_the_longest_rebalance(
    folder: Path, log_of: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The printed text of each group: three lines, members under the names that people know."""
    monkeypatch.setenv("COLUMNS", "1000")
    log, logs = log_of(folder), sorted(folder.glob("server*.log*"))
    tables = audited_once(log, broker_logs=logs).tables
    reasons, compared = reasons_of(folder), 0
    for own in with_one_life(tables):
        group_id = own["epochs"][0]["group_id"]
        if not own["rebalances"] or not group_id.isprintable():
            continue
        found = longest_of(own["rebalances"])
        if found is None:
            continue
        longest = found.rebalance
        its_reasons = reasons.get((group_id, longest["first_epoch"]))
        if its_reasons is None:
            continue
        printed = call("explain", log, group_id, *(f"--broker-log={path}" for path in logs)).out
        assert names_them(first_three_lines(printed), named(its_reasons, own)), printed
        compared += 1
    assert compared


@pytest.mark.parametrize("columns", [100, 140])
def test_the_worst_rebalances_of_the_demo(
    columns: int, log_of: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three lines name what set it off; and who held it up, where the broker removed somebody or a client says so."""
    monkeypatch.setenv("COLUMNS", str(columns))
    log = log_of(DEMO)
    tables = audited_once(log).tables
    reasons = reasons_of(DEMO)
    worst = sorted(tables["rebalances"], key=rank_of, reverse=True)[:WORST]
    for row in worst:
        group_id, first = row["group_id"], row["first_epoch"]
        own = of_group(tables, group_id)
        printed = call("explain", log, group_id, "--epoch", str(first)).out
        lines = first_three_lines(printed)
        its_reasons = reasons.get((group_id, first))
        assert its_reasons is None or names_them(lines, named(its_reasons, own)), printed
        removed = [
            reason
            for epoch in range(first + 1, row["last_epoch"] + 1)
            for reason in reasons.get((group_id, epoch), ())
            if reason["cause"] in {"member_session_expired", "member_rebalance_timeout"}
        ]
        if removed:
            assert any(reason["member_id"] in lines for reason in named(removed, own)), printed
        busy = busy_clients(DEMO, own, row)
        if busy:
            client = max(busy, key=lambda each: busy[each])
            assert re.search(rf"[:,] (then )?{client} at\b", lines), printed


def first_three_lines(printed: str) -> str:
    """What is read first."""
    return " ".join(printed.splitlines()[:3])


def named(reasons: Iterable[Row], own: Tables) -> list[Row]:
    """The reasons with members under the names that texts have for them."""
    names = MemberNames(own["members"])
    return [
        reason
        | {
            "member_id": ",".join(
                names.of(own["members"][0]["group_id"], each.strip())
                for each in reason["member_id"].split(",")
            )
        }
        if reason.get("member_id")
        else reason
        for reason in reasons
    ]


def busy_clients(folder: Path, own: Tables, rebalance: Row) -> dict[str, int]:
    """Clients that were dead, frozen or in a callback for a good share of a rebalance, and how long (ms)."""
    took = duration_of(rebalance)
    assert took is not None
    to_ms = rebalance["ended_at"]
    from_ms = to_ms - took.least
    events: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in rows_of(folder / "clients.jsonl.gz"):
        if row["group"] == rebalance["group_id"]:
            events[row["actor"]].append((row["t_ms"], row["event"]))
    found = {}
    for client, happened in events.items():
        for member in own["members"]:
            gone_ms = to_ms if member["left_at"] is None else min(to_ms, member["left_at"])
            if member["client_id"] != client or member["first_seen_at"] > from_ms:
                continue
            busy_ms = sum(
                max(0, min(until_ms, gone_ms) - max(since_ms, from_ms))
                for since_ms, until_ms in stretches(sorted(happened), gone_ms)
            )
            if 100 * busy_ms >= SHARE_PERCENT * took.least:
                found[client] = busy_ms
    return found


def stretches(happened: Sequence[tuple[int, str]], end_ms: int) -> Iterator[tuple[int, int]]:
    """From, to (epoch milliseconds) of what kept a client from answering."""
    for place, (at_ms, event) in enumerate(happened):
        later = [(ms, other) for ms, other in happened[place + 1 :] if other != "lost"]
        if event == "revoked" and (not later or later[0][1] != "revoke_done"):
            continue  # the callback returned at once
        if event in ENDS:
            yield at_ms, next((ms for ms, other in later if other in ENDS[event]), end_ms)


@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_clients_that_kept_others_waiting_are_named(folder: Path, log_of: Log) -> None:
    """By their own callbacks and by what was done to them; where every step is a record."""
    tables = audited_once(log_of(folder)).tables
    for row in tables["rebalances"]:
        took = duration_of(row)
        if is_classic(row) or took is None or took.least < LONG_MS:
            continue
        own = of_group(tables, row["group_id"])
        clients = {member["member_id"]: member["client_id"] for member in own["members"]}
        held = {clients[each.member_id] for each in held_up_of(row) if each.member_id is not None}
        assert busy_clients(folder, own, row).keys() <= held, row


@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_the_broker_removed_those_that_did_not_answer(folder: Path, log_of: Log) -> None:
    """A member that is said not to have answered until its removal, or never to have released, was removed."""
    tables = audited_once(log_of(folder)).tables
    reasons = reasons_of(folder)
    for row in tables["rebalances"]:
        if is_classic(row):
            continue
        for holder in held_up_of(row):
            if holder.why != "silent":
                continue
            its_reasons = [
                reason
                for epoch in range(row["first_epoch"], row["last_epoch"] + 1)
                for reason in reasons.get((row["group_id"], epoch), ())
            ]
            if its_reasons:
                assert holder.member_id in {each.get("member_id") for each in its_reasons}, holder
