"""HTTP by hand, for what ordinary clients do not do: answers that arrive during the request."""

from __future__ import annotations

import json
import socket
from types import TracebackType
from typing import Any, Self

TIMEOUT_S = 20


class RawRequest:
    """A request whose body goes out in chunks, while its response is being read."""

    def __init__(self, port: int, method: str, path: str, *headers: str, chunked: bool = False):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        self._input = self.socket.makefile("rb")
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *headers]
        if chunked:
            lines += ["Content-Type: application/json", "Transfer-Encoding: chunked"]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._input.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """One chunk; an empty one ends the request."""
        self.socket.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def send_json(self, *records: Any) -> None:
        self.send(b"".join(json.dumps(record).encode() for record in records))

    def head(self) -> tuple[int, dict[str, str]]:
        """The status and the headers of the response."""
        status = int(self._input.readline().split()[1])
        headers = {}
        while line := self._input.readline().strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return status, headers

    def chunk(self) -> bytes:
        """The next chunk of the response; empty at its end."""
        size = int(self._input.readline(), 16)
        data = self._input.read(size)
        self._input.readline()
        return data

    def until(self, end: bytes) -> bytes:
        """The response up to and with this text."""
        while end not in self._rest:
            data = self.chunk()
            assert data, f"the response ended without {end!r}: {self._rest!r}"
            self._rest += data
        found, _, self._rest = self._rest.partition(end)
        return found + end

    def line(self) -> Any:
        """The next line of the response as JSON."""
        return json.loads(self.until(b"\r\n"))
