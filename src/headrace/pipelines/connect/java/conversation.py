"""One conversation with a JVM: commands and answers, and questions of Java's in between.

A fault in Java is raised here, by the kind that Connect has for it, with Java's stack trace.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from headrace.pipelines.connect.faults import (
    ConfigException,
    ConnectException,
    DataException,
    RetriableException,
)
from headrace.pipelines.connect.java import values
from headrace.pipelines.connect.java.jvm import Address
from headrace.pipelines.connect.model.batch import Position

_LENGTH: Final = struct.Struct(">I")
_KINDS: Final[Mapping[str, type[Exception]]] = {
    each.java_class: each for each in (ConfigException, ConnectException, DataException)
}

Offsets = Callable[[Position], Mapping[str, object] | None]


class Conversation:
    """A connection to the JVM at `address`, for classes of `jars`. Not for two threads at a time.

    `offsets` answers what Java asks of the positions that were kept.
    """

    def __init__(
        self, address: Address, jars: Sequence[str], offsets: Offsets = lambda partition: None
    ) -> None:
        self._offsets = offsets
        self._socket = socket.create_connection(("127.0.0.1", address.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secret = address.secret.encode()
        hello = bytearray(struct.pack(">H", len(secret)) + secret + _LENGTH.pack(len(jars)))
        for jar in jars:
            data = jar.encode()
            hello += struct.pack(">H", len(data)) + data
        self._socket.sendall(hello)

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, verb: str, *arguments: object) -> object:
        """What a command is answered with, however long that takes."""
        self.begin(verb, *arguments)
        return self.answer()

    def begin(self, verb: str, *arguments: object) -> None:
        """Send a command whose answer is waited for later."""
        self._send([verb, *arguments])

    def answer(self) -> object:
        """The answer to the command that was sent last."""
        while True:
            told = self._received()
            if told[0] == "offsets":
                partitions = told[1]
                assert isinstance(partitions, list)
                self._send([self._offsets(position(each)) for each in partitions])
            elif told[0] == "done":
                return told[1]
            else:
                raise fault_of(told[1:])

    def is_answered(self, within_s: float) -> bool:
        """Whether something has come, an answer or a question, waited for so long."""
        self._socket.settimeout(within_s)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return False
        finally:
            self._socket.settimeout(None)
        return True

    def close(self) -> None:
        """Hang up: a task that was not stopped is stopped by the JVM."""
        self._socket.close()

    def _send(self, value: list[object]) -> None:
        data = values.encode(value)
        try:
            self._socket.sendall(_LENGTH.pack(len(data)))
            self._socket.sendall(data)
        except OSError as fault:
            raise _gone() from fault

    def _received(self) -> list[object]:
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        told = values.decode(self._exactly(length))
        assert isinstance(told, list)
        return told

    def _exactly(self, size: int) -> memoryview:
        data = memoryview(bytearray(size))
        filled = 0
        while filled < size:
            try:
                count = self._socket.recv_into(data[filled:])
            except OSError as fault:
                raise _gone() from fault
            if not count:
                raise _gone()
            filled += count
        return data


def _gone() -> ConnectException:
    return ConnectException(
        "the JVM has ended the conversation: the classes could not be loaded, or the JVM has "
        "ended; its standard error says why. Restart the task"
    )


def position(told: object) -> dict[str, object]:
    """A partition or offset of a source, as JSON can keep it."""
    assert isinstance(told, dict)
    return {str(key): value for key, value in told.items()}


def fault_of(told: Sequence[object]) -> Exception:
    """What Java says of a fault: class, whether it may pass, message, trace."""
    name, may_pass, message, trace = told
    kind = RetriableException if may_pass is True else _KINDS.get(str(name))
    if kind is None:
        fault: Exception = ConnectException(f"{name}: {message}")
    else:
        fault = kind(str(message))
    fault.add_note(str(trace))
    return fault
