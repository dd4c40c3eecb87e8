"""A real registry process for tests, and a plain HTTP client for it."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

EXTENDED = {"Confluent-Accept-Unknown-Properties": "true"}
V1 = "application/vnd.schemaregistry.v1+json"
_START_S = 30
_STOP_S = 15


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any
    headers: Mapping[str, str]
    raw: bytes

    @property
    def code(self) -> Any:
        """The `error_code` of an error."""
        return self.body["error_code"]


def request(
    url: str,
    method: str,
    path: str,
    body: object = None,
    *,
    headers: Mapping[str, str] | None = None,
    user: str | None = None,
    tls: ssl.SSLContext | None = None,
    timeout_s: float = 30,
) -> Answer:
    """One request on a connection of its own; the body is JSON unless it is bytes."""
    where = urlsplit(url)
    assert where.hostname is not None
    connection: http.client.HTTPConnection
    if where.scheme == "https":
        connection = http.client.HTTPSConnection(
            where.hostname, where.port, timeout=timeout_s, context=tls
        )
    else:
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=timeout_s)
    sent = dict(headers or {})
    data = None
    if body is not None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent.setdefault("Content-Type", V1)
    if user is not None:
        sent["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
    try:
        connection.request(method, path, data, sent)
        response = connection.getresponse()
        raw = response.read()
    finally:
        connection.close()
    found = {name.lower(): value for name, value in response.getheaders()}
    try:
        parsed = json.loads(raw) if raw else None
    except ValueError:
        parsed = None
    return Answer(response.status, parsed, found, raw)


class RunningRegistry:
    """`python -m headrace.registry` on a free port of 127.0.0.1."""

    def __init__(self, bootstrap: str, **properties: str) -> None:
        self.properties = {
            "kafkastore.bootstrap.servers": bootstrap,
            "listeners": "http://127.0.0.1:0",
            **{name.replace("__", "."): value for name, value in properties.items()},
        }
        self.url = ""
        self.output: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._readers: list[threading.Thread] = []

    def start(self) -> Self:
        command = [sys.executable, "-m", "headrace.registry"]
        for name, value in self.properties.items():
            command += ["--set", f"{name}={value}"]
        process = self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ,
        )
        ready = threading.Event()

        def read() -> None:
            assert process.stdout is not None
            with process.stdout as stream:
                for line in stream:
                    self.output.append(line)
                    if line.startswith("ready registry "):
                        self.url = line.split()[2]
                        ready.set()
            ready.set()

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        self._readers = [thread]
        ready.wait(_START_S)
        if not self.url:
            self.kill()
            raise AssertionError("the registry did not start:\n" + "".join(self.output))
        return self

    def failure(self) -> str:
        """What it says when it is not able to start."""
        try:
            self.start()
        except AssertionError as error:
            return str(error)
        self.stop()
        raise AssertionError("the registry started, although it should not")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def call(self, method: str, path: str, body: object = None, **options: Any) -> Answer:
        return request(self.url, method, path, body, **options)

    def await_primary(self, is_primary: bool = True, timeout_s: float = 20) -> None:
        """Return when this instance is the primary, or no longer is."""
        until(lambda: self.call("GET", "/healthz").body["primary"] is is_primary, timeout_s)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            code = self._process.wait(_STOP_S)
            self._reap()
            assert code == 0, "".join(self.output)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._reap()

    def _reap(self) -> None:
        for thread in self._readers:
            thread.join(5)
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()


def until(is_so: Callable[[], bool], timeout_s: float = 20) -> float:
    """Wait for something that another process does; returns how long it took."""
    started = time.monotonic()
    while not is_so():
        passed = time.monotonic() - started
        assert passed < timeout_s, f"not within {timeout_s} s"
        time.sleep(0.02)
    return time.monotonic() - started
