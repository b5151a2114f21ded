"""The server for agents over streamable HTTP: a bearer token, and requests for this host's own names only.

The transport, its sessions and the check of headers are the SDK's; what is ours is who may ask. Without the checks of
Host and Origin a page in a browser could ask a server of this machine (DNS rebinding).
"""

import asyncio
import socket
from collections.abc import Callable, Collection
from hmac import compare_digest
from typing import Final

import uvicorn
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from rebalance_audit import limits
from rebalance_audit.errors import BadRequest

PATH: Final = "/mcp"
TOKEN_CHARACTERS: Final = 16
"""At least: shorter ones can be guessed."""
BODY_BYTES: Final = 1 << 20
"""Of a request; the longest query fits twice, escaped."""
CONNECTIONS_MAX: Final = limits.AGENT_CONNECTIONS.most
HTTP_PORT: Final = 80
HEAD_S: Final = limits.AGENT_HEAD_SECONDS.most
END_S: Final = 5
"""How long requests may take to end when the server is asked to."""


class _Connection(H11Protocol):
    """A connection that asks soon, or makes room for one that does: silent ones need no token to be opened."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close it in HEAD_S unless a request has come, and the oldest silent one where there are too many."""
        super().connection_made(transport)
        self.opened_at = self.loop.time()
        self.loop.call_later(HEAD_S, self._end_if_silent)
        if len(self.connections) > CONNECTIONS_MAX:
            silent = [
                each
                for each in self.connections
                if isinstance(each, _Connection) and each.is_silent
            ]
            oldest = min(silent, key=lambda each: each.opened_at, default=self)
            oldest.transport.close()
            self.connections.discard(oldest)

    @property
    def is_silent(self) -> bool:
        """Whether no whole head of a request has come."""
        return self.cycle is None

    def _end_if_silent(self) -> None:
        if self.is_silent and not self.transport.is_closing():
            self.transport.close()


def require_token(token: str) -> str:
    """Raises BadRequest for one that is too short or that no header can carry."""
    if len(token) < TOKEN_CHARACTERS or not token.isascii() or not token.isprintable():
        raise BadRequest(
            f"The token must have at least {TOKEN_CHARACTERS} printable ASCII characters, such as those of"
            " `openssl rand -hex 32`."
        )
    return token


class OneToken(TokenVerifier):
    """Takes one token, in the same time whatever it is given."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who holds it; None for any other."""
        if not compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="agent", scopes=[])


def auth_at(address: str) -> AuthSettings:
    """The SDK requires a token issuer; the token comes from whoever started the server, so none is advertised."""
    return AuthSettings(
        issuer_url=AnyHttpUrl(f"http://{_in_url(address)}"), resource_server_url=None
    )


def serve_http(
    server: MCPServer,
    address: str,
    port: int,
    *,
    host_names: Collection[str] = (),
    origins: Collection[str] = (),
    started: Callable[[str], None],
) -> None:
    """Serve until a signal ends the process. Raises BadRequest where the port cannot be had.

    `server`: with its token verifier; `port`: 0 for any that is free; `host_names`: by which clients ask for this
    machine besides its own; `origins`: of pages that may ask, such as `https://tools.example`; `started` takes the URL.
    """
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listening = socket.create_server((address, port), family=family)
    except OSError as error:
        raise BadRequest(f"Cannot listen at {address}:{port}: {error.strerror}.") from None
    with listening:
        at_port = int(listening.getsockname()[1])
        names = {"localhost", "127.0.0.1", "[::1]", _in_url(address), socket.gethostname()}
        names |= {socket.getfqdn(), *map(_in_url, host_names)}
        hosts = [f"{name}:{at_port}" for name in names]
        # A proxy before it has a port of its own, and a client leaves out the usual ones.
        hosts += [each for name in host_names for each in (_in_url(name), f"{_in_url(name)}:*")]
        hosts += names if at_port == HTTP_PORT else ()
        server.custom_route("/-/healthy", ["GET"])(_healthy)
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            # Answers depend on nothing that was asked before.
            stateless_http=True,
            max_request_body_size=BODY_BYTES,
            transport_security=TransportSecuritySettings(
                allowed_hosts=sorted(hosts), allowed_origins=sorted(origins)
            ),
        )
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            http=_Connection,
            ws="none",
            # Of those that ask; `_Connection` bounds the silent ones.
            limit_concurrency=CONNECTIONS_MAX + 1,
            timeout_graceful_shutdown=END_S,
        )
        started(f"http://{_in_url(address)}:{at_port}{PATH}")
        uvicorn.Server(config).run(sockets=[listening])


async def _healthy(_request: Request) -> Response:
    return PlainTextResponse("OK\n")


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address and not address.startswith("[") else address
