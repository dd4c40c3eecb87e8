"""The services of `headrace up`, one process each, watched over by a parent that does nothing else.

The parent forks before anything heavy is loaded, so that a child imports its own things and starts
at once. It learns from the line that a service prints when it is ready at which address it is, and
starts those that need it. One that dies is started again, after a pause that grows.

    WHAT HAPPENS                   WHAT IS DONE
    SIGTERM, Ctrl-C                the last one started is stopped first, so that nobody loses what
                                   it stands on; a second signal kills those that are left
    a service dies                 it is started again in 0.5 s, 1 s, 2 s … at most 30 s
    it does not start, five times  it is given up, the others run on; without its broker all end
    the parent is killed           the kernel sends each child SIGTERM (PR_SET_PDEATHSIG)

The module refuses to know what the services do: each is a function that a child calls.
"""

from __future__ import annotations

import gc
import os
import re
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from headrace.cli.lines import say, warn

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
STEADY_S: Final = 60.0
"""Whoever was ready for so long has not failed in a row."""
MAX_FAILED_STARTS: Final = 5
STOP_TIMEOUT_S: Final = 60.0
_MAX_LINE_BYTES: Final = 64 << 10
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_READY: Final = re.compile(r"(?:(\w+) ready on|ready (\w+)) (\S+)")
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NAME: Final = 15

Addresses = Mapping[str, str]
"""Where the services are that are known so far, by name."""


@dataclass(slots=True)
class Service:
    """What to run, and what became of it."""

    name: str
    run: Callable[[Addresses], int]
    needs: tuple[str, ...] = ()
    address: str | None = None
    """Where it is: known beforehand, or else from its first ready line on."""
    essential: bool = False
    """Whether everything ends when it cannot be started."""
    says: str = ""
    """What it calls itself in its ready line, where that is not its name."""
    pid: int = 0
    output: int = -1
    unread: bytes = b""
    ready_at: float | None = None
    was_ready: bool = False
    failures: int = 0
    due_at: float | None = 0.0
    """When to start it: None while it runs, and after it was given up."""

    @property
    def given_up(self) -> bool:
        return not self.pid and self.due_at is None


class Supervisor:
    """Runs services until a signal, or until an essential one cannot be started."""

    def __init__(self, services: Sequence[Service]) -> None:
        self._services = {service.name: service for service in services}
        self._selector = selectors.DefaultSelector()
        self._started: list[Service] = []
        self._signals = 0
        self._exit_code: int | None = None

    def run(self) -> int:
        """Returns the exit code of the command."""
        with self._caught_signals():
            # What the parent holds is never freed; looking for garbage would only unshare pages.
            gc.collect()
            gc.freeze()
            while not self._signals and self._exit_code is None:
                pause = self._start_due()
                self._wait(pause)
            self._stop_all()
        return self._exit_code or 0

    @contextmanager
    def _caught_signals(self) -> Iterator[None]:
        def on_signal(number: int, _frame: object) -> None:
            self._signals += number in _SIGNALS

        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(reader, selectors.EVENT_READ)
        before = {
            number: signal.signal(number, on_signal) for number in (*_SIGNALS, signal.SIGCHLD)
        }
        woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._selector.close()
            os.close(reader)
            os.close(writer)

    # -- starting ---------------------------------------------------------------------------------

    def _start_due(self) -> float | None:
        """Start whoever may; returns after how many seconds to look again."""
        now = time.monotonic()
        soonest: float | None = None
        for service in self._services.values():
            if service.due_at is None or not all(map(self._is_settled, service.needs)):
                continue
            if service.due_at <= now:
                self._start(service)
            else:
                left = service.due_at - now
                soonest = left if soonest is None else min(soonest, left)
        return soonest

    def _is_settled(self, name: str) -> bool:
        service = self._services.get(name)
        return service is None or service.address is not None or service.given_up

    def _start(self, service: Service) -> None:
        known = {
            each.name: each.address
            for each in self._services.values()
            if each.address is not None and not each.given_up
        }
        reader, writer = os.pipe2(os.O_CLOEXEC)
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        # A signal that arrives before the child has its own handlers must not get lost in ours.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid == 0:
            _become(service, known, writer, parent)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.close(writer)
        os.set_blocking(reader, False)
        self._selector.register(reader, selectors.EVENT_READ, service)
        service.pid, service.output = pid, reader
        service.due_at = service.ready_at = None
        if service not in self._started:
            self._started.append(service)

    # -- watching ---------------------------------------------------------------------------------

    def _wait(self, timeout_s: float | None) -> None:
        """Take in whatever happens next."""
        for key, _ in self._selector.select(timeout_s):
            if key.data is not None:
                self._read(key.data)
                continue
            try:
                os.read(key.fd, 4096)
            except BlockingIOError:
                pass
        for service in self._started:
            if service.pid:
                pid, status = os.waitpid(service.pid, os.WNOHANG)
                if pid:
                    self._on_exit(service, os.waitstatus_to_exitcode(status))

    def _read(self, service: Service) -> None:
        while service.output >= 0:
            try:
                piece = os.read(service.output, _MAX_LINE_BYTES)
            except BlockingIOError:
                return
            *lines, service.unread = (service.unread + piece).split(b"\n")
            for line in lines:
                self._on_line(service, line.decode(errors="replace"))
            if not piece or len(service.unread) > _MAX_LINE_BYTES:
                self._on_line(service, service.unread.decode(errors="replace"))
                service.unread = b""
            if not piece:
                self._close(service)

    def _close(self, service: Service) -> None:
        if service.output >= 0:
            self._selector.unregister(service.output)
            os.close(service.output)
            service.output = -1

    def _on_line(self, service: Service, line: str) -> None:
        match = _READY.match(line)
        called = service.says or service.name
        if match is None or called not in (match[1], match[2]):
            if line:
                say(line)
            return
        if service.ready_at is None:
            service.ready_at = time.monotonic()
            service.address = service.address or match[3]
            service.was_ready = True
        say(f"{service.name} ready on {match[3]}{line[match.end() :]}")

    def _on_exit(self, service: Service, code: int) -> None:
        self._read(service)
        self._close(service)
        service.pid = 0
        if self._signals or self._exit_code is not None:
            return
        steady = service.ready_at is not None and time.monotonic() - service.ready_at > STEADY_S
        service.failures = 1 if steady else service.failures + 1
        if service.essential and not service.was_ready:
            # Its own words have told why, and trying again would change nothing.
            self._exit_code = code if code > 0 else 1
        elif not service.was_ready and service.failures >= MAX_FAILED_STARTS:
            warn(f"service {service.name} failed to start {service.failures} times, giving up")
        else:
            pause_s = min(FIRST_PAUSE_S * 2 ** (service.failures - 1), LONGEST_PAUSE_S)
            service.due_at = time.monotonic() + pause_s
            warn(f"service {service.name} {_ending(code)}; restarting in {pause_s:g} s")

    # -- stopping ---------------------------------------------------------------------------------

    def _stop_all(self) -> None:
        """One after another, the last one first."""
        self._exit_code = self._exit_code or 0
        for service in reversed(self._started):
            if not service.pid:
                continue
            os.kill(service.pid, signal.SIGTERM)
            deadline = time.monotonic() + STOP_TIMEOUT_S
            while service.pid and self._signals < 2 and time.monotonic() < deadline:
                self._wait(deadline - time.monotonic())
            if service.pid:
                warn(f"service {service.name} did not stop in time and is killed")
                os.kill(service.pid, signal.SIGKILL)
                self._exit_code = 1
                while service.pid:
                    self._wait(1.0)


def _become(service: Service, known: Addresses, output: int, parent: int) -> None:
    """In the child: run the service and never return."""
    code = 1
    try:
        # A group of its own: Ctrl-C in the terminal reaches the parent alone, which stops in order.
        os.setpgid(0, 0)
        _die_with(parent, f"headrace-{service.name}")
        signal.set_wakeup_fd(-1)
        for number in (*_SIGNALS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(output, 1)
        sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        code = service.run(known)
        sys.stdout.flush()
    except BaseException as error:
        code = _told(error)
    finally:
        sys.stderr.flush()
        os._exit(code)


def _told(error: BaseException) -> int:
    """The exit code of a child that ended with this, told as every command tells it."""
    from headrace.cli import tell

    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, Exception):
        return tell(error)
    return 130


def _die_with(parent: int, name: str) -> None:
    """Ask the kernel to stop this process when its parent has gone, however it went."""
    from ctypes import CDLL

    prctl = CDLL(None).prctl
    prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)
    if os.getppid() != parent:
        # It went between the fork and the request.
        os._exit(1)


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"
