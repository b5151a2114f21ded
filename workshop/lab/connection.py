"""One connection to a broker: any request of its release, as names and values."""

import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rebalance_audit.wire.generic import decode, encode
from rebalance_audit.wire.schema import Layout, Struct
from workshop.lab.layouts import Api, api

PATIENCE_S: Final = 120
NEWEST: Final[Mapping[str, int]] = {}
_NO_TAGS: Final = b"\0"


class Connection:
    """A client of one broker. A request without an answer yet keeps the connection: Kafka answers in order."""

    def __init__(
        self, port: int, jars: Path, client_id: str, versions: Mapping[str, int] = NEWEST
    ) -> None:
        """`versions` has the requests that are not sent in the newest version of the release."""
        self._jars = jars
        self._versions = versions
        self.client_id = client_id
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self._stream = self._socket.makefile("rb")
        self._asked: Api | None = None

    def ask(self, name: str, **fields: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self.send(name, **fields)
        return self.answer()

    def send(self, name: str, **fields: Any) -> None:
        """Send a request; fields that are not given have their default."""
        assert self._asked is None, "the last request is not answered yet"
        asked = api(self._jars, name)
        asked = self._asked = asked._replace(version=self._versions.get(name, asked.version))
        layout = asked.request.layouts[0]
        value = _filled(layout.body, layout, asked.version, fields)
        client_id = self.client_id.encode()
        header = struct.pack(">hhih", asked.key, asked.version, 1, len(client_id)) + client_id
        tags = _NO_TAGS if asked.request.is_flexible(asked.version) else b""
        body = encode(asked.request, asked.version, layout, value)
        request = header + tags + body
        self._socket.sendall(struct.pack(">i", len(request)) + request)

    def answered(self) -> bool:
        """Whether the answer has begun to arrive."""
        self._socket.settimeout(0.02)
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            return False
        finally:
            self._socket.settimeout(PATIENCE_S)

    def answer(self) -> dict[str, Any]:
        """The answer to what was sent."""
        assert self._asked is not None
        asked, self._asked = self._asked, None
        (size,) = struct.unpack(">i", self._stream.read(4))
        data = self._stream.read(size)
        start = 5 if asked.response.is_flexible(asked.version) else 4
        layout = asked.response.layouts[0]
        return decode(asked.response, asked.version, layout, data, start).value

    def close(self) -> None:
        """Leave without a word."""
        self._stream.close()
        self._socket.close()


def _filled(
    shape: Struct, layout: Layout, version: int, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The value of a struct; raises KeyError for a name that it does not have."""
    value: dict[str, Any] = {field.attribute: field.default for field in shape.fields}
    for name, content in given.items():
        field = next((each for each in shape.fields if each.attribute == name), None)
        if field is None:
            raise KeyError(f"{shape.name} has no {name}")
        if field.is_struct and content is not None:
            inner = layout.structs[field.type_name]
            rows = content if field.is_array else [content]
            filled = [_filled(inner, layout, version, row) for row in rows]
            value[name] = filled if field.is_array else filled[0]
        else:
            value[name] = content
    return value
