"""Brokers' logs under pseudonyms: they prove of the anonymised log what the originals prove of the original."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from rebalance_audit.audit.broker_log.wordings import PLAIN, SCOPED
from rebalance_audit.local.audit import audit_segments
from tests.anonymise.renamed import anonymised, names_in, plain_bytes, rows, rows_under_old_names

GOLDEN = Path(__file__).parents[1] / "golden" / "captures"
CAPTURES = sorted(path.name for path in GOLDEN.iterdir())


@pytest.mark.parametrize("capture", CAPTURES)
def test_an_audit_with_the_brokers_lines_is_the_same(capture: str, tmp_path: Path) -> None:
    """Row by row, under the original's names; and the lines hold none of them."""
    log, lines = GOLDEN / capture / "segments", GOLDEN / capture / "server.log.gz"
    out = tmp_path / "out"
    found = anonymised(log, out, lines)
    assert found.lines > 20
    ours = rows_under_old_names(found, out, broker_logs=[out / "broker-logs"])
    assert ours == rows(log, broker_logs=[lines])
    wordings = " ".join(row.pattern for row in (*PLAIN, *SCOPED))
    names = {name for name in names_in(log) if name not in wordings}
    for file, data in plain_bytes(out / "broker-logs"):
        assert not [name for name in names if name.encode() in data], file


def test_shifted_lines_belong_to_shifted_records(tmp_path: Path) -> None:
    """They are shifted by the same time, so they prove the same."""
    log, lines = GOLDEN / "migration" / "segments", GOLDEN / "migration" / "server.log.gz"
    out = tmp_path / "out"
    anonymised(log, out, lines, shifts_times=True)
    before = audit_segments(log, broker_logs=[lines]).tables["rebalance_causes"]
    after = audit_segments(out, broker_logs=[out / "broker-logs"]).tables["rebalance_causes"]
    said = [
        Counter((row["epoch"], row["cause"], row["certainty"]) for row in rows_of)
        for rows_of in (before, after)
    ]
    assert said[0] == said[1]
    without = audit_segments(out).tables["rebalance_causes"]
    assert said[1] != Counter((row["epoch"], row["cause"], row["certainty"]) for row in without)


PREPARING = (
    "[GroupCoordinator 1]: Preparing to rebalance group orders in state PreparingRebalance with old generation 3"
    " (__consumer_offsets-2) (reason:"
)
FAILED = "client reason: rebalance failed due to UnknownMemberIdException"
LEFT = (
    "[GroupCoordinator 1]: Member MemberMetadata(memberId=app-1-x, groupInstanceId=None, clientId=app-1, clientHost=/h,"
    " sessionTimeoutMs=1, rebalanceTimeoutMs=1, supportedProtocols=List(range)) has left group orders through explicit"
    " `LeaveGroup`; client reason:"
)
FENCED = "[GroupCoordinator id=1] [GroupId orders] Member app-1-x fenced from the group because"
MEMBER = "[GroupCoordinator id=1] [GroupId orders] Member app-1-x"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            f"{PREPARING} Adding new member app-1-x with group instance id Some(pod-1); {FAILED})",
            "; client reason: rebalance failed ",
        ),
        (f"{LEFT} member was removed by an admin 10.0.0.7)", "by an admin o-"),
        (f"{LEFT} member was removed by an admin: 482913)", "by an admin o-"),
        (f"{FENCED} it failed to transition from epoch 2 within 6000ms.", "epoch 2 within 6000ms"),
        (f"{MEMBER} updated its subscribed topics to: [foo, bars]", "topics to: [t-"),
        (f"{MEMBER} updated its subscribed regex to: [foo]bars.*", "regex to: x-"),
        (f"{MEMBER} does what no release does", "Not copied."),
        ("Connection of app-1-x from bars to orders", ""),
    ],
    ids=[
        "trigger",
        "address",
        "ticket",
        "timeout",
        "topics",
        "expression",
        "unknown",
        "another logger",
    ],
)
def test_nothing_is_copied_that_no_wording_knows(line: str, expected: str, tmp_path: Path) -> None:
    """Known words stay; names and what clients write are replaced."""
    file = tmp_path / "server-of-bars.log"
    file.write_text(
        f"[2026-11-21 03:12:00,123] INFO {line} (kafka.coordinator.group.GroupCoordinator)\n" * 2
    )
    out = tmp_path / "out"
    anonymised(GOLDEN / "offsets" / "segments", out, file)
    written = list((out / "broker-logs").glob("*"))
    text = "".join(f"{each.name}\n{each.read_text()}" for each in written)
    originals = ("orders", "bars", "app-1", "pod-1", "10.0.0.7", "482913")
    assert not [word for word in originals if word in text]
    assert text.count(expected) >= 2 or not expected


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    """So that who reads an answer finds the line in the original."""
    lines = (
        gzip.decompress((GOLDEN / "offsets" / "server.log.gz").read_bytes()).decode().splitlines()
    )
    file = tmp_path / "server.log"
    file.write_text("\n".join([line for each in lines for line in ("of another logger", each)]))
    out = tmp_path / "out"
    anonymised(GOLDEN / "offsets" / "segments", out, file)
    (written,) = (out / "broker-logs").glob("*")
    new = written.read_text().splitlines()
    assert len(new) == 2 * len(lines)
    assert not any(new[::2])
