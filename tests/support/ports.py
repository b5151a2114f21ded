"""Ports for servers of tests."""

import random
import socket
from pathlib import Path
from typing import Final

FIRST: Final = 10_240
OF_CONNECTIONS: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST_OF_CONNECTIONS: Final = 32_768
"""Where the system does not say it."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that no program listens on.

    None that the system may give to a connection before the server starts, or starts again: a client that asks for a
    server that is gone may even be given the server's own port, and be connected with itself.
    """
    first_of_connections = FIRST_OF_CONNECTIONS
    if OF_CONNECTIONS.exists():
        first_of_connections = int(OF_CONNECTIONS.read_text().split()[0])
    candidates = range(FIRST, max(first_of_connections, FIRST + 10_000))
    found: list[int] = []
    for port in random.SystemRandom().sample(candidates, len(candidates)):
        if len(found) == count:
            break
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        found.append(port)
    return found
