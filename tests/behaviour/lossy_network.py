"""A network between client and broker that loses one produce request, or its acknowledgement."""

from __future__ import annotations

import contextlib
import enum
import socket
import struct
import threading
from collections.abc import Iterator
from typing import BinaryIO

PRODUCE_KEY = 0
TIMEOUT_SECONDS = 30


class Loss(enum.Enum):
    """What is lost before the connection breaks."""

    REQUEST = enum.auto()
    ACKNOWLEDGEMENT = enum.auto()


class LossyNetwork:
    """Passes requests and answers on, one after the other; the broker advertises this address."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.broker_port = 0  # known once the broker has started
        self.next_loss: Loss | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # A thread that waits in accept is not woken by close alone.
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        address = ("127.0.0.1", self.broker_port)
        with (
            contextlib.suppress(OSError),
            client,
            socket.create_connection(address, TIMEOUT_SECONDS) as broker,
            client.makefile("rb") as requests,
            broker.makefile("rb") as answers,
        ):
            while request := _frame(requests):
                loss = self._loss_of(request)
                if loss is Loss.REQUEST:
                    return
                broker.sendall(request)
                answer = _frame(answers)
                if loss is Loss.ACKNOWLEDGEMENT or answer is None:
                    return
                client.sendall(answer)

    def _loss_of(self, request: bytes) -> Loss | None:
        (api_key,) = struct.unpack_from(">h", request, 4)
        if api_key != PRODUCE_KEY:
            return None
        loss, self.next_loss = self.next_loss, None
        return loss


@contextlib.contextmanager
def lossy_network() -> Iterator[LossyNetwork]:
    network = LossyNetwork()
    try:
        yield network
    finally:
        network.close()


def _frame(stream: BinaryIO) -> bytes | None:
    """The next frame with its size, or None at the end."""
    size = stream.read(4)
    return size + stream.read(int.from_bytes(size, "big")) if len(size) == 4 else None
