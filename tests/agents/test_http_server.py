"""The server over HTTP, asked by the SDK's own client, and by requests that it must refuse."""

import asyncio
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from rebalance_audit.agents.http_server import CONNECTIONS_MAX
from tests.cli.call import PROGRAM, call, segments

BEARER: Final = "0123456789abcdef-of-a-test"
CAPTURE: Final = segments("classic-static")
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server in a process of its own; it must end by itself on SIGTERM."""
    secret = tmp_path_factory.mktemp("secret") / "token"
    secret.write_text(f"{BEARER}\n")
    arguments = ["mcp", str(CAPTURE), "--http-port", "0", "--http-token", f"@{secret}"]
    arguments += ["--http-host", "audit.example", "--http-origin", "https://tools.example"]
    process = subprocess.Popen([*PROGRAM, *arguments], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "Serving agents at http://127.0.0.1:" in line, line
    yield int(line.rpartition(":")[2].removesuffix("/mcp\n"))
    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=60)[1]
    assert process.returncode in (0, -signal.SIGTERM), rest
    assert BEARER not in line + rest


def status(port: int, **headers: str) -> int:
    """Of a request with these headers."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    usual = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {BEARER}",
        "Host": f"127.0.0.1:{port}",
    }
    connection.request("POST", "/mcp", json.dumps(INITIALIZE), {**usual, **headers})
    answer = connection.getresponse().status
    connection.close()
    return answer


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 200),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer 0123456789abcdef-of-a-tesT"}, 401),
        ({"Authorization": "Bearer é"}, 401),
        ({"Authorization": f"Basic {BEARER}"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "audit.example"}, 200),
        ({"Host": "audit.example:443"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Origin": "https://tools.example"}, 200),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_a_request_needs_the_token_and_a_name_of_ours(
    port: int, headers: dict[str, str], expected: int
) -> None:
    """Without a token 401; under the name of another host, as after DNS rebinding, 421; from a page elsewhere 403."""
    assert status(port, **headers) == expected


def test_a_body_that_is_too_large_is_refused(port: int) -> None:
    """Before it is read."""
    assert status(port, **{"Content-Length": str(64 << 20)}) == 413


def test_a_probe_needs_no_token(port: int) -> None:
    """It says nothing about groups."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/-/healthy")
    assert connection.getresponse().status == 200
    connection.close()


def test_agents_get_the_answers_of_stdio(port: int) -> None:
    """By the SDK's client: several at a time, each its own answers."""

    async def ask(group: str) -> str:
        headers = {"Authorization": f"Bearer {BEARER}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(
                streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
            ) as client,
        ):
            found = await client.call_tool("why", {"group": group, "moment": "2026-11-22"})
            (content,) = found.content
            assert isinstance(content, TextContent)
            return str(json.loads(content.text)["group"])

    async def together() -> list[str]:
        return await asyncio.gather(*map(ask, ("fleet", "crew", "fleet")))

    assert asyncio.run(together()) == ["«fleet»", "«crew»", "«fleet»"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--http-port", "0"], "Give --http-port and --http-token together."),
        (
            ["--http-token", "long-enough-for-a-token"],
            "Give --http-port and --http-token together.",
        ),
        (["--http-port", "0", "--http-token", "short"], "at least 16 printable ASCII characters"),
        (
            ["--http-port", "0", "--http-token", "x" * 16, "--http-address", "203.0.113.7"],
            "Cannot listen at 203.0.113.7:0",
        ),
    ],
)
def test_what_cannot_be_served_is_said(arguments: list[str], said: str, tmp_path: Path) -> None:
    """A server without a token is none; each error says what to do."""
    outcome = call("mcp", str(CAPTURE), *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_silent_connections_do_not_block_others(port: int) -> None:
    """Whoever opens one needs no token: more than may be open, and half of them with the begin of a request."""
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS_MAX + 8)]
    for each in silent[::2]:
        each.sendall(b"POST /mcp HTTP/1.1\r\n")
    assert status(port) == 200
    for each in silent:
        each.close()
