"""A REST Proxy or a Schema Registry as its own process, and plain requests to it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import IO, Any, NamedTuple

V1 = "application/vnd.kafka.v1+json"
V2 = "application/vnd.kafka.v2+json"
START_TIMEOUT_S = 60


def embedded(form: str, version: int = 2) -> str:
    """The media type of an embedded format."""
    return f"application/vnd.kafka.{form}.v{version}+json"


class Reply(NamedTuple):
    """What a service answered."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Service:
    """One process on a free port of 127.0.0.1; `module` is headrace.rest or headrace.registry."""

    def __init__(self, module: str, properties: Mapping[str, object]) -> None:
        self._module = module
        self._properties = {"listeners": "http://127.0.0.1:0", **properties}
        self._lines: list[str] = []
        self._told = threading.Condition()
        self._ready = threading.Event()
        self.url = ""

    def __enter__(self) -> Service:
        command = [sys.executable, "-m", self._module]
        for key, value in self._properties.items():
            command += ["--set", f"{key}={value}"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,))
        self._reader.start()
        if not self._ready.wait(START_TIMEOUT_S) or not self.url:
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"{self._module} did not start:\n{self.output}")
        return self

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with self._told:
                    self._lines.append(line.rstrip("\n"))
                    self._told.notify_all()
                match = re.match(r"ready \S+ (https?://\S+)", line)
                if match:
                    self.url = match[1]
                    self._ready.set()
        self._ready.set()

    @property
    def output(self) -> str:
        return "\n".join(self._lines[-100:])

    def await_output(self, text: str) -> None:
        """Wait until it has printed this: what is logged of an answer may come after the answer."""
        with self._told:
            assert self._told.wait_for(lambda: text in self.output, START_TIMEOUT_S), self.output

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.rpartition("//")[2].rpartition(":")
        return host, int(port)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"{self._module} did not stop:\n{self.output}") from None
        finally:
            self._reader.join(10)
        assert code == 0, f"{self._module} ended with {code}:\n{self.output}"
        assert "Traceback" not in self.output, self.output

    # -- requests ---------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str | None = V2,
        accept: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 60,
    ) -> Reply:
        """One request on a connection of its own; `body` is bytes, or anything that JSON takes."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = dict(headers or {})
        if data is not None and content_type is not None:
            sent["Content-Type"] = content_type
        if accept is not None:
            sent["Accept"] = accept
        connection = http.client.HTTPConnection(*self.address, timeout=timeout_s)
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            text = response.read().decode()
            lower = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, lower, text)
        finally:
            connection.close()

    def get(self, path: str, **options: Any) -> Reply:
        return self.request("GET", path, **options)

    def post(self, path: str, body: object = None, **options: Any) -> Reply:
        return self.request("POST", path, body, **options)

    def delete(self, path: str, **options: Any) -> Reply:
        return self.request("DELETE", path, **options)


def error_of(reply: Reply) -> tuple[int, int, str]:
    """Status, code and text of an error."""
    body = reply.json
    assert set(body) == {"error_code", "message"}
    return reply.status, body["error_code"], body["message"]
