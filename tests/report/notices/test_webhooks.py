"""Findings arrive at a web server of this machine, each once."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from rebalance_audit.audit.rows import Row
from rebalance_audit.errors import BadRequest, NotDelivered
from rebalance_audit.report.notices.delivery import CALLS_MAX, Delivery, SentFindings, deliver
from rebalance_audit.report.notices.webhook import Webhook
from tests.cli.call import call, segments

ALL = ("critical", "warning", "info")


class Receiver:
    """A web server that keeps what it is sent, and answers with the codes it was given, else with 202."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.codes: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                code = receiver.codes.pop(0) if receiver.codes else 202
                if code == 202:
                    receiver.bodies.append(body)
                self.send_response(code)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing on stderr."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?key=s3cret"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """One that runs."""
    found = Receiver()
    thread = Thread(target=found.server.serve_forever, args=(0.01,))
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


def finding(finding_id: str, *, ended: bool = False, severity: str = "critical") -> Row:
    """About group <shop> & co."""
    return {
        "cluster": "blue",
        "finding_id": finding_id,
        "kind": "stuck_group",
        "severity": severity,
        "group_id": "<shop>",
        "from_at": datetime(2026, 11, 21, 3, 12, tzinfo=UTC),
        "to_at": datetime(2026, 11, 21, 4, 0, tzinfo=UTC) if ended else None,
        "member_ids": ["m"],
        "topics": [],
        "detail": "Member m blocks <shop>.",
        "advice": "Restart it.",
    }


def one_call(receiver: Receiver, file: Path, findings: list[Row], kind: str = "json") -> Delivery:
    """One call, as by a process of its own; without its pauses between attempts."""
    webhook = Webhook(receiver.url, kind, "routing", pause=lambda _: None)
    return deliver(findings, SentFindings.read(file), webhook, ALL)


def notified(receiver: Receiver, file: Path, findings: list[Row], kind: str = "json") -> list[str]:
    """What one call sent."""
    return one_call(receiver, file, findings, kind).sent


def test_a_finding_is_sent_once(receiver: Receiver, tmp_path: Path) -> None:
    """First what goes on; later what is new, ended or not; never what was sent or had ended before the first call."""
    file = tmp_path / "sent.json"
    old, open_one = finding("old", ended=True), finding("open")
    assert notified(receiver, file, [old, open_one]) == ["open"]
    assert notified(receiver, file, [old, open_one]) == []
    assert notified(receiver, file, [old, finding("open", ended=True)]) == []
    assert notified(receiver, file, [old, finding("short", ended=True)]) == ["short"]
    assert [body["finding"]["finding_id"] for body in receiver.bodies] == ["open", "short"]
    assert receiver.bodies[0]["finding"]["from_at"] == "2026-11-21T03:12:00.000Z"
    assert receiver.bodies[0]["schema_version"] == 1


def test_what_was_not_taken_is_sent_next_time(receiver: Receiver, tmp_path: Path) -> None:
    """A server that is busy is asked again, now and by the next call; what it took is not sent twice."""
    file = tmp_path / "sent.json"
    two = [finding("1"), finding("2")]
    receiver.codes = [503, 429, 202, 503, 408, 425]
    with pytest.raises(NotDelivered, match=r"refused a finding: HTTP 425\. .*1 sent, 1 left"):
        notified(receiver, file, two)
    assert notified(receiver, file, two) == ["2"]
    assert [body["finding"]["finding_id"] for body in receiver.bodies] == ["1", "2"]


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 413, 415, 418, 422, 302, 308])
def test_a_refused_finding_keeps_no_other_from_being_sent(
    code: int, receiver: Receiver, tmp_path: Path
) -> None:
    """It is noted and not sent again, since the receiver takes others."""
    file = tmp_path / "sent.json"
    findings = [finding(name) for name in "123"]
    receiver.codes = [code]
    done = one_call(receiver, file, findings)
    assert (done.sent, done.left) == (["2", "3"], 0)
    assert done.refused["1"].startswith(f"HTTP {code}")
    assert one_call(receiver, file, findings) == Delivery()


def test_an_address_that_is_wrong_loses_no_finding(receiver: Receiver, tmp_path: Path) -> None:
    """A key that was revoked refuses everything: that is an error, and all is sent once there is a new one."""
    file = tmp_path / "sent.json"
    findings = [finding("1"), finding("2")]
    receiver.codes = [404, 404]
    with pytest.raises(NotDelivered, match=r"HTTP 404.*2 left for the next call"):
        notified(receiver, file, findings)
    assert sorted(notified(receiver, file, findings)) == ["1", "2"]


def test_a_finding_on_which_the_server_fails_goes_last(receiver: Receiver, tmp_path: Path) -> None:
    """The others are sent, and some calls later it is given up."""
    file = tmp_path / "sent.json"
    findings = [finding("0")]
    for number in range(1, CALLS_MAX + 1):
        findings.append(finding(str(number)))
        fails = [500, 500, 500]
        receiver.codes = fails if number == 1 else [202, *fails]
        if number == 1:
            assert one_call(receiver, file, findings).sent == ["1"]
        elif number < CALLS_MAX:
            with pytest.raises(NotDelivered, match="1 sent, 1 left"):
                one_call(receiver, file, findings)
        else:
            with pytest.raises(NotDelivered, match="1 sent, 1 refused for good"):
                one_call(receiver, file, findings)
    assert one_call(receiver, file, findings) == Delivery()


def test_a_server_that_is_down_is_not_asked_for_each_finding(
    receiver: Receiver, tmp_path: Path
) -> None:
    """Two findings in vain are enough; the next call begins with others."""
    file = tmp_path / "sent.json"
    findings = [finding(str(number)) for number in range(9)]
    receiver.codes = [500] * 6
    with pytest.raises(NotDelivered, match="9 left for the next call"):
        notified(receiver, file, findings)
    assert notified(receiver, file, findings) == [*"2345678", "0", "1"]


def test_no_server_listens(receiver: Receiver, tmp_path: Path) -> None:
    """The sentence names the host and not the address, which is a secret."""
    webhook = Webhook("http://127.0.0.1:9/s3cret", "json", pause=lambda _: None)
    with pytest.raises(NotDelivered, match=r"127\.0\.0\.1 refused a finding: .*refused") as error:
        deliver([finding("1")], SentFindings.read(tmp_path / "sent.json"), webhook, ALL)
    assert "s3cret" not in str(error.value)


def test_pagerduty_receives_the_end(receiver: Receiver, tmp_path: Path) -> None:
    """Trigger and resolve have the same key, so that an incident closes by itself."""
    file = tmp_path / "sent.json"
    notified(receiver, file, [finding("1")], "pagerduty")
    for _ in "12":
        notified(receiver, file, [finding("1", ended=True)], "pagerduty")
    trigger, resolve = receiver.bodies
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["dedup_key"] == resolve["dedup_key"] == "1"
    assert trigger["payload"]["severity"] == "critical"
    assert trigger["payload"]["source"] == "blue/<shop>"
    assert trigger["routing_key"] == "routing"


@pytest.mark.parametrize("kind", ["slack", "pagerduty"])
def test_a_large_group_makes_no_large_message(
    kind: str, receiver: Receiver, tmp_path: Path
) -> None:
    """Ten thousand members with the longest names: a receiver that refuses the body would not learn of the finding."""
    large = finding("1") | {"group_id": "g" * 32_767, "member_ids": ["m" * 32_767] * 10_000}
    large |= {"detail": "d" * 1_000_000}
    notified(receiver, tmp_path / "sent.json", [large], kind)
    assert len(json.dumps(receiver.bodies)) < 40_000


def test_slack_gets_plain_text(receiver: Receiver, tmp_path: Path) -> None:
    """Names from the log do not become links or mentions."""
    notified(receiver, tmp_path / "sent.json", [finding("1")], "slack")
    (message,) = receiver.bodies
    header, section, context = message["blocks"]
    assert message["text"] == "stuck group: group &lt;shop&gt;"
    assert header["text"]["text"] == "stuck group: group <shop>"
    assert section["text"]["text"] == "Member m blocks <shop>.\nRestart it."
    assert "blue/<shop>" in context["elements"][0]["text"]
    texts = [header["text"], section["text"], *context["elements"]]
    assert {text["type"] for text in texts} == {"plain_text"}


def test_the_command_reads_its_address_from_a_file(receiver: Receiver, tmp_path: Path) -> None:
    """The first call over a log whose findings have all ended sends nothing and remembers them."""
    (tmp_path / "url").write_text(f"{receiver.url}\n")
    words = ("notify", segments("consumer-protocol"), "--url", f"@{tmp_path}/url")
    sent = ("--sent", tmp_path / "sent.json", "--severity", "info")
    assert call(*words, *sent).out == "No new findings to send.\n"
    known = json.loads((tmp_path / "sent.json").read_text())["went_on"]
    assert set(known.values()) == {False}
    (tmp_path / "sent.json").write_text(json.dumps({"format": 1, "went_on": {}}))
    assert call(*words, *sent).out == f"{len(known)} findings sent.\n"
    assert len(receiver.bodies) == len(known) > 0


@pytest.mark.parametrize("text", ["[]", '{"format": 2}', "no JSON"])
def test_another_file_is_not_taken_for_a_list(text: str, tmp_path: Path) -> None:
    """It is refused, not overwritten."""
    (tmp_path / "sent.json").write_text(text)
    with pytest.raises(BadRequest, match=r"sent\.json"):
        SentFindings.read(tmp_path / "sent.json")
