"""Lines that a tenant has a broker write: never proof about another group, however they are carried."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.time_zones import zone_of
from tests.audit.broker_log.stories import causes
from tests.dsl import TOPIC_NAMES, log

BEGIN_MS = 1_786_627_800_000
RECORDS = log(
    (1_010, "2 1 range A=0-5 state_at=1000"),
    (5_010, "2 2 range A=0-2 B=3-5 state_at=5000"),
    (9_010, "2 3 range A=0-5 state_at=9000"),
)
"""B joins and is gone again: as an owner knows, it left."""
MARK = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0] "
LOGGER = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"


def line(at_ms: int, message: str, logger: str = LOGGER) -> str:
    """A line of a coordinator as Kafka writes it, without its line break."""
    return f"{BEGIN_MS + at_ms} INFO {MARK}{message}{logger}"


def prepared(group: str, old_generation: int, reason: str) -> str:
    """The message about the begin of a join phase, up to the end of its reason."""
    state = f"in state PreparingRebalance with old generation {old_generation}"
    return f"Preparing to rebalance group {group} {state} (reason: {reason}"


STABILIZED = line(9_001, "Stabilized group g generation 3 with 1 members.")
LEFT = [
    line(
        8_000,
        "[Group g] Member B has left group through explicit `LeaveGroup` request; client reason: not provided",
    ),
    line(8_001, prepared("g", 2, "explicit `LeaveGroup` request for (B) members).")),
]
"""The truth."""
CLAIM = prepared("g", 2, "removing member B on heartbeat expiration.")
FAILED = line(7_999, "Member B in group g has failed, removing it from the group.")
FORGED = line(8_000, CLAIM, "")
EVIL = prepared("evil", 0, "Adding new member e with group instance id null; client reason: ")
DENIED = "Principal = User:m is Denied operation = READ from host = 10.0.0.66 on resource = Group:LITERAL:"
STAMP = "2026-08-13 13:30:08,000"


def evil(reason: str) -> list[str]:
    """A line about a tenant's own group with its reason, in physical lines."""
    return line(7_990, EVIL + reason + ").").split("\n")


def as_json(lines: Sequence[str], **fields: object) -> list[str]:
    """Every physical line in a JSON object, as a container runtime wraps it."""
    return [json.dumps({"log": f"{each}\n", **fields}) for each in lines]


FORGERIES: dict[str, list[str]] = {
    "reason": evil(f"bye).{LOGGER}\n{FORGED}"),
    "reason that says there is none": evil(f"not provided).{LOGGER}\n{FORGED}"),
    "reason with a carriage return": evil(f"bye).{LOGGER}\r\n{FORGED}"),
    "reason with blank lines": evil(f"bye).{LOGGER}\n\n \t\n{FORGED}"),
    "reason without an end": evil(f"bye\n{FORGED}"),
    "reason with the removal too": evil(f"bye).{LOGGER}\n{FAILED}\n{FORGED}"),
    "reason with another logger's line": evil(
        f"bye).{LOGGER}\n{BEGIN_MS + 7_995} INFO [Log partition=a-0] Rolled (kafka.log.Log)\n{FORGED}"
    ),
    "reason of a leave": [
        line(
            7_990,
            "[Group evil] Member e has left group through explicit `LeaveGroup` request; client reason: x",
            "",
        ),
        f"{FORGED}).{LOGGER}",
    ],
    **{
        f"reason with U+{ord(char):04X}": evil(f"bye).{LOGGER}{char}{FORGED}")
        for char in "\r\x0b\x85\u2028\u2029"
    },
    "group id": [
        line(7_990, "Dynamic member with unknown member id joins group evil", ""),
        f"{FORGED} in Empty state. Created a new member id e and requesting the member to rejoin with this id.{LOGGER}",
    ],
    "authorizer": [
        f"{BEGIN_MS + 7_990} INFO {DENIED}x {STAMP} INFO {MARK}{CLAIM}). (kafka.authorizer.logger)"
    ],
    "authorizer without level": [f"[{STAMP}] {DENIED}x {STAMP} {MARK}{CLAIM})."],
    "authorizer, line break": [
        f"{BEGIN_MS + 7_990} INFO {DENIED}x",
        f"{FORGED}).{LOGGER}",
        " for request = JoinGroup (kafka.authorizer.logger)",
    ],
    "request as JSON": [
        f"{BEGIN_MS + 7_990} DEBUG Completed request:"
        + json.dumps({"request": {"groupId": f"{FORGED}).{LOGGER}"}})
    ],
    "request as text": [
        f"{BEGIN_MS + 7_990} DEBUG Handling JoinGroupRequestData(groupId='{FORGED}).{LOGGER}')"
    ],
    "field of JSON": [json.dumps({"timestamp": BEGIN_MS + 8_000, "groupId": f"{MARK}{CLAIM})."})],
    "message of JSON": [
        json.dumps({"timestamp": BEGIN_MS + 8_000, "message": f"{DENIED}x {STAMP} {MARK}{CLAIM})."})
    ],
    "message of JSON, line break": [
        json.dumps({"timestamp": BEGIN_MS + 7_990, "message": f"{MARK}{EVIL}bye).\n{FORGED})."})
    ],
    "container's JSON": as_json(evil(f"bye).{LOGGER}\n{FORGED}"), stream="stdout"),
    "container's JSON, authorizer": as_json(
        [f"{BEGIN_MS + 7_990} INFO {DENIED}x", f"{FORGED}).{LOGGER}"]
    ),
    "logfmt": [f'ts={BEGIN_MS + 8_000} level=info group="{MARK}{CLAIM})."'],
}


def audit(folder: Path) -> dict[str, list[Row]]:
    """The tables of RECORDS with the logs in a folder."""
    facts = [
        fact._replace(at_ms=fact.at_ms - BEGIN_MS)
        for fact in LogReader(zone_of("UTC")).facts([folder])
    ]
    found = BrokerLog.of(facts)
    return audit_log(RECORDS, AuditOptions(topic_name=TOPIC_NAMES.get, broker_facts=found.facts_of))


def write(folder: Path, lines: Sequence[str], name: str = "server.log") -> None:
    """A file of these lines, whatever line breaks are in them."""
    (folder / name).write_bytes("".join(f"{each}\n" for each in lines).encode())


def ends_of_b(tables: dict[str, list[Row]]) -> set[tuple[str, str]]:
    """How B went, by its row and by the causes of generation 3."""
    member = next(row for row in tables["members"] if row["member_id"] == "B")
    found = {(member["left_how"], member["left_certainty"])}
    for cause in causes(tables, 3):
        kind, certainty, *_ = cause.split()
        found.add((kind, certainty))
    return found


@pytest.mark.parametrize("form", FORGERIES)
def test_a_forged_line_proves_nothing(form: str, tmp_path: Path) -> None:
    """With the true lines gone: the forged one is at most probable, and says nothing on when the join phase began."""
    write(tmp_path, [*FORGERIES[form], STABILIZED])
    tables = audit(tmp_path)
    assert "proven" not in {certainty for _, certainty in ends_of_b(tables)}
    row = next(row for row in tables["epochs"] if row["epoch"] == 3)
    assert row["join_started_earliest"] != row["join_started_latest"]


@pytest.mark.parametrize("form", FORGERIES)
def test_a_forged_line_does_not_replace_the_true_one(form: str, tmp_path: Path) -> None:
    """With the true lines there: what they say comes first, and nothing else is proven."""
    write(tmp_path, [*LEFT, *FORGERIES[form], STABILIZED])
    tables = audit(tmp_path)
    assert causes(tables, 3)[0].startswith("member_left")
    proven = {kind for kind, certainty in ends_of_b(tables) if certainty == "proven"}
    assert proven <= {"member_left"}


@pytest.mark.parametrize(
    "name",
    [
        "kafka-authorizer.log",
        "authorizer.log.2026-08-13-09",
        "kafka-request.log.1",
        "controller.log",
        "state-change.log",
    ],
)
def test_other_logs_of_the_folder_are_no_witnesses(name: str, tmp_path: Path) -> None:
    """A whole line of a coordinator in the log of another logger: that logger's client wrote it."""
    write(tmp_path, [*LEFT, STABILIZED])
    write(tmp_path, [f"{FORGED}).{LOGGER}"], name)
    assert ends_of_b(audit(tmp_path)) == {("member_left", "proven")}


CARRIED: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "container's JSON": lambda text: as_json([text])[0],
    "compose": lambda text: f"kafka-1  | {text}",
    "pod": lambda text: f"[pod/kafka-0/kafka] {text}",
    "syslog": lambda text: f"Aug 13 13:30:07 host kafka[7]: {text}",
    "grep": lambda text: f"/var/log/kafka/server.log:12:{text}",
}


@pytest.mark.parametrize("carrier", CARRIED)
def test_honest_lines_prove_as_before(carrier: str, tmp_path: Path) -> None:
    """After another group's reason the first line is in doubt, and the records or a line of its own confirm it."""
    honest = [
        line(7_000, "Stabilized group other generation 1 with 1 members."),
        *LEFT,
        STABILIZED,
    ]
    write(tmp_path, [CARRIED[carrier](each) for each in honest])
    assert ends_of_b(audit(tmp_path)) == {("member_left", "proven")}


def test_a_line_after_another_groups_reason_is_kept(tmp_path: Path) -> None:
    """A tenant cannot hide lines by writing before them: they are probable, and name their cause."""
    write(tmp_path, [*evil("bye"), line(8_000, CLAIM + ")."), STABILIZED])
    assert ("member_session_expired", "probable") in ends_of_b(audit(tmp_path))


def test_two_reasons_of_one_generation_are_both_named(tmp_path: Path) -> None:
    """The coordinator logs one; the first stays, and the other is among the alternatives."""
    other = line(
        8_500,
        prepared("g", 2, "Adding new member C with group instance id null; client reason: x)."),
    )
    write(tmp_path, [*LEFT, other, STABILIZED])
    tables = audit(tmp_path)
    first = next(
        row for row in tables["rebalance_causes"] if row["epoch"] == 3 and not row["cause_seq"]
    )
    assert (first["cause"], first["certainty"]) == ("member_left", "probable")
    assert "member_joined" in first["alternatives"]


def test_a_refusal_elsewhere_is_no_finding_of_the_group(tmp_path: Path) -> None:
    """A tenant sends its instance id with another group's member id: the line names that id and no group."""
    refused = line(
        7_000,
        "Request memberId=A for static member with groupInstanceId=i is fenced by current memberId=e "
        "during operation heartbeat",
    )
    write(tmp_path, [*LEFT, STABILIZED, refused])
    assert "instance_id_refused" not in {row["kind"] for row in audit(tmp_path)["findings"]}
