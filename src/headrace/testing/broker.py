"""A real broker for tests: its own process, a free port, an advertised address that works.

    from headrace.testing import Broker

    with Broker() as broker:
        Producer({"bootstrap.servers": broker.bootstrap_servers})

It is the broker that production runs, started by the same command, so a test may also stop it,
kill it and start it again on the same data.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Final

_READY: Final = re.compile(r"^broker ready on (\S+):(\d+)")
_METRICS: Final = re.compile(r"^metrics ready on (\S+)")
_START_TIMEOUT_S: Final = 60
_STOP_TIMEOUT_S: Final = 60
_METRICS_TIMEOUT_S: Final = 10
_KEPT_LINES: Final = 200
_DAY_MS: Final = 24 * 60 * 60 * 1000


class BrokerFailed(RuntimeError):
    """The broker did not start or stop as it should; the text ends with its last log lines."""


class Broker:
    """One broker process on 127.0.0.1.

    `properties` are settings as in server.properties. Nothing is deleted for its age or size
    unless they say how often to look for it, by `log.retention.check.interval.ms`. Without `data`
    the records live in a temporary folder that `stop` removes; with it they stay for the next
    start. With `metrics` the broker's metrics are served at `metrics_url`.
    """

    def __init__(
        self,
        properties: Mapping[str, object] | None = None,
        *,
        data: str | os.PathLike[str] | None = None,
        port: int = 0,
        environment: Mapping[str, str] | None = None,
        metrics: bool = False,
    ) -> None:
        self._properties = {
            # Tests run side by side: none of them takes the port that `headrace up` would.
            "metrics.listener": "127.0.0.1:0" if metrics else "",
            # Tests write records of any date, and a week's retention would take them away.
            "log.retention.check.interval.ms": _DAY_MS,
            **(properties or {}),
        }
        self._keep_data = data is not None
        self._data = Path(data) if data is not None else None
        self._port = port
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[str] = []
        self._answered = False
        self._metrics_url = ""
        self._said_more = threading.Condition()
        self._reader: threading.Thread | None = None

    # -- where it is ------------------------------------------------------------------------------

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        if self._port == 0:
            raise BrokerFailed("the broker has no port before it is started")
        return self._port

    @property
    def metrics_url(self) -> str:
        """Where the metrics are; only with `metrics=True`."""
        with self._said_more:
            if not self._said_more.wait_for(lambda: self._metrics_url, _METRICS_TIMEOUT_S):
                raise BrokerFailed(f"the broker serves no metrics:\n{self.output}")
        return self._metrics_url

    @property
    def data_dir(self) -> Path:
        """The folder with the partitions."""
        if self._data is None:
            raise BrokerFailed("the broker has no folder before it is started")
        return self._data

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def output(self) -> str:
        """The last lines of the broker's log."""
        return "\n".join(self._lines)

    def await_output(self, text: str, timeout_s: float = 10) -> None:
        """Return when the broker's log has this text in it."""
        with self._said_more:
            if not self._said_more.wait_for(lambda: text in self.output, timeout_s):
                raise BrokerFailed(f"the broker did not say {text!r}:\n{self.output}")

    # -- life -------------------------------------------------------------------------------------

    def start(self) -> Broker:
        """Start and return once the broker answers."""
        assert not self.running, "the broker is already running"
        if self._data is None:
            self._data = Path(tempfile.mkdtemp(prefix="headrace-"))
        command = [sys.executable, "-m", "headrace", "up", "--data", str(self._data)]
        command += ["--only", "broker", "--host", "127.0.0.1", "--port", str(self._port)]
        for key, value in self._properties.items():
            command += ["--set", f"{key}={value}"]
        self._lines = []
        self._answered = False
        self._metrics_url = ""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # Without a record of it, so that no `kafka-server-stop` ends it.
            env={**os.environ, "HEADRACE_RUN": "", **self._environment},
        )
        ready = threading.Event()
        stream = self._process.stdout
        assert stream is not None
        self._reader = threading.Thread(target=self._read, args=(stream, ready), daemon=True)
        self._reader.start()
        if not ready.wait(_START_TIMEOUT_S) or not self._answered:
            self.kill()
            self._remove_data()
            raise BrokerFailed(f"the broker did not start:\n{self.output}")
        return self

    def _read(self, stream: IO[str], ready: threading.Event) -> None:
        with stream:
            for line in stream:
                with self._said_more:
                    self._lines.append(line.rstrip("\n"))
                    del self._lines[:-_KEPT_LINES]
                    if metrics := _METRICS.match(line):
                        self._metrics_url = metrics[1]
                    self._said_more.notify_all()
                match = _READY.match(line)
                if match and not self._answered:  # of several listeners the first
                    self._port = int(match[2])
                    self._answered = True
                    ready.set()
        ready.set()  # the process has ended; `start` finds that it never answered

    def stop(self) -> None:
        """Stop cleanly (SIGTERM); temporary data is removed."""
        process = self._process
        if process is not None:
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)  # one that was paused hears of it too
            try:
                code = process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise BrokerFailed(f"the broker did not stop:\n{self.output}") from None
            self._reap()
            if code != 0:
                raise BrokerFailed(f"the broker ended with {code}:\n{self.output}")
        self._remove_data()

    def kill(self) -> None:
        """Stop as a power cut does (SIGKILL); the data stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._reap()

    def pause(self) -> None:
        """Stop it in its tracks (SIGSTOP), as a long pause of a machine does."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def _reap(self) -> None:
        if self._reader is not None:
            self._reader.join(10)
        self._process = None

    def restart(self) -> None:
        """Stop cleanly, if it runs, and start again with the same port and data."""
        if self.running:
            keep, self._keep_data = self._keep_data, True
            self.stop()
            self._keep_data = keep
        self.start()

    def _remove_data(self) -> None:
        if not self._keep_data and self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
            self._data = None

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.running:
            self.stop()
        else:
            self._remove_data()
