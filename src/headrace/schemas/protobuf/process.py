"""The compiler as a child process: started at first use, one for this process, replaced at need.

protoc is C++ that reads what strangers send, and its Python bindings are heavy. In a process of
its own it can be given a time limit, may crash, and costs nothing where no Protobuf is used. This
module knows pipes, deadlines and the life of the child; what the parts of a request mean is
between `schema` and `compiler`.
"""

from __future__ import annotations

import atexit
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Final

from headrace.errors import HeadraceError
from headrace.schemas.protobuf import frames

TIMEOUT_S: Final = 10.0
_COMMAND: Final = (sys.executable, "-P", "-m", "headrace.schemas.protobuf.compiler")
_CHUNK_BYTES: Final = 1 << 18
_ATTEMPTS: Final = 2
_GOODBYE_S: Final = 2.0


class CompilerTimedOut(HeadraceError):
    """The compiler did not answer in time; it was ended."""


class CompilerDied(HeadraceError):
    """The compiler ended instead of answering, twice in a row."""


class _Child:
    """One running compiler and the folder that it works in."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="headrace-protoc-")
        self.process = subprocess.Popen(
            [*_COMMAND, self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.answers = self.process.stdin, self.process.stdout
        os.set_blocking(self.requests.fileno(), False)
        os.set_blocking(self.answers.fileno(), False)

    def exchange(self, request: bytes, deadline: float) -> list[bytes]:
        """Send and receive at once, so that neither side waits for the other to read first."""
        unsent, answer = memoryview(request), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self.requests, selectors.EVENT_WRITE)
            selector.register(self.answers, selectors.EVENT_READ)
            while frames.missing_bytes(answer):
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError
                for key, _ in selector.select(left_s):
                    if key.fileobj is self.answers:
                        received = os.read(key.fd, _CHUNK_BYTES)
                        if not received:
                            raise EOFError
                        answer += received
                        continue
                    unsent = unsent[os.write(key.fd, unsent[:_CHUNK_BYTES]) :]
                    if not unsent:
                        selector.unregister(self.requests)
        return frames.unpack(answer)

    def end(self, *, kill: bool) -> int:
        """Wait until it is gone, by force if need be; its exit code."""
        if kill:
            self.process.kill()
        # Without requests to come the child ends by itself.
        self.requests.close()
        self.answers.close()
        try:
            code = self.process.wait(_GOODBYE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        return code


class CompilerProcess:
    """Answers requests one at a time, from any thread."""

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self.timeout_s = timeout_s
        self._lock = threading.Lock()
        self._child: _Child | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the child, once there is one."""
        return None if self._child is None else self._child.process.pid

    def ask(self, parts: Sequence[bytes]) -> list[bytes]:
        """The answer to a request; CompilerTimedOut or CompilerDied if there is none."""
        request = frames.pack(parts)
        if not self._lock.acquire(timeout=self.timeout_s):
            raise CompilerTimedOut(
                f"the compiler was busy for {self.timeout_s:g} seconds; try again later"
            )
        try:
            return self._ask(request, time.monotonic() + self.timeout_s)
        finally:
            self._lock.release()

    def _ask(self, request: bytes, deadline: float) -> list[bytes]:
        code = 0
        for _ in range(_ATTEMPTS):
            # A child may have been killed by someone else, and the request is innocent; but what
            # ends the compiler twice is the request's own fault.
            child = self._living_child()
            try:
                return child.exchange(request, deadline)
            except TimeoutError:
                self._child = None
                child.end(kill=True)
                raise CompilerTimedOut(
                    f"the compiler took more than {self.timeout_s:g} seconds"
                ) from None
            except (EOFError, OSError):
                self._child = None
                code = child.end(kill=False)
        raise CompilerDied(f"the compiler broke down (exit code {code})")

    def _living_child(self) -> _Child:
        if self._child is not None and self._child.process.poll() is not None:
            self._child.end(kill=False)
            self._child = None
        if self._child is None:
            self._child = _Child()
        return self._child

    def close(self) -> None:
        """End the child, if there is one; the next request starts another."""
        with self._lock:
            if self._child is not None:
                self._child.end(kill=False)
                self._child = None

    def forget(self) -> None:
        """After a fork the child belongs to the parent alone: leave its pipes be."""
        self._lock = threading.Lock()
        if self._child is not None:
            # A Popen that is collected would complain that its process still runs.
            self._child.process.returncode = 0
            self._child = None


shared: Final = CompilerProcess()
atexit.register(shared.close)
os.register_at_fork(after_in_child=shared.forget)
