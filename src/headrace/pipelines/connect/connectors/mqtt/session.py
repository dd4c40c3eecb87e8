"""A connection to an MQTT server, with paho. Its thread reads and writes; tasks ask it.

Received messages are acknowledged by `Subscriber.acknowledge` alone, so that a server sends again
what did not reach Kafka. An identifier of a message is good for one connection: after a new one the
server sends everything again that was not acknowledged.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from headrace.pipelines.connect.connectors.mqtt.settings import Access, Host
from headrace.pipelines.connect.faults import ConnectException, RetriableException

_LOG: Final = logging.getLogger(__name__)
_MOST_WAITING: Final = 50_000
_MOST_WAITING_BYTES: Final = 64 << 20
_SLOWEST_RECONNECT_S: Final = 30


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it came; `number` counts them, `connection` and `mid` are to acknowledge it."""

    number: int
    topic: str
    payload: bytes
    qos: int
    mid: int
    connection: int


class _Session:
    """A client that is connected, and connects again by itself once it has been."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._changed = threading.Condition()
        self._answer: ReasonCode | None = None
        self._connection = 0
        self._closing = False
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2,
            access.client_id,
            clean_session=access.clean,
            manual_ack=True,
        )
        self._client.connect_timeout = access.timeout_s
        self._client.reconnect_delay_set(1, _SLOWEST_RECONNECT_S)
        if access.username is not None:
            password = None if access.password is None else access.password.clear
            self._client.username_pw_set(access.username, password)
        if any(host.tls for host in access.hosts):
            self._client.tls_set(access.ca, access.cert, access.key)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect

    def connect(self) -> None:
        """Be connected, or RetriableException; ConnectException if the server refuses us."""
        faults = []
        for host in self._access.hosts:
            try:
                self._client.connect(host.name, host.port, self._access.keep_alive_s)
                break
            except OSError as fault:
                faults.append(f"{_shown(host)}: {fault}")
        else:
            raise RetriableException(f"no MQTT server can be reached ({'; '.join(faults)})")
        self._client.loop_start()
        with self._changed:
            answered = self._changed.wait_for(
                lambda: self._answer is not None, self._access.timeout_s
            )
        if not answered:
            self.close()
            raise RetriableException(
                f"{_shown(host)} has not answered within {self._access.timeout_s:g} s"
            )
        assert self._answer is not None
        if self._answer.is_failure:
            refusal = str(self._answer)
            self.close()
            raise ConnectException(
                f"{_shown(host)} does not accept the client {self._access.client_id!r}: {refusal}; "
                "check connect.mqtt.username, connect.mqtt.password and connect.mqtt.client.id"
            )

    def close(self) -> None:
        """Leave the server."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._client.disconnect()
        self._client.loop_stop()

    def _connected(self) -> None:
        """What is to be done with each new connection."""

    def _on_connect(
        self,
        client: paho.Client,
        userdata: object,
        flags: paho.ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        with self._changed:
            self._answer = reason
            self._connection += 1
            self._changed.notify_all()
        if not reason.is_failure:
            self._connected()

    def _on_disconnect(
        self,
        client: paho.Client,
        userdata: object,
        flags: paho.DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        if not self._closing:
            _LOG.warning("the connection to the MQTT server is lost (%s), trying again", reason)


class Subscriber(_Session):
    """Messages of some filters. `most_bytes` of payloads wait to be taken, and one message more."""

    def __init__(
        self,
        access: Access,
        filters: Sequence[str],
        quality: int,
        *,
        most_bytes: int = _MOST_WAITING_BYTES,
    ) -> None:
        super().__init__(access)
        self._most_bytes = most_bytes
        self._waiting_bytes = 0
        self._wanted = [(each, quality) for each in dict.fromkeys(filters)]
        self._waiting: deque[Message] = deque()
        self._received = 0
        self._refused: str | None = None
        self._client.on_message = self._on_message
        self._client.on_subscribe = self._on_subscribe

    def take(self, most: int, wait_s: float) -> list[Message]:
        """What has come, at most so many; waits for the first one."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._refused, wait_s)
            if self._refused is not None:
                raise ConnectException(self._refused)
            taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
            self._waiting_bytes -= sum(len(each.payload) for each in taken)
            self._changed.notify_all()
        return taken

    def acknowledge(self, message: Message) -> None:
        """Let the server forget it; nothing to do if it has come by an earlier connection."""
        if message.qos and message.connection == self._connection:
            self._client.ack(message.mid, message.qos)

    def _has_room(self) -> bool:
        return len(self._waiting) < _MOST_WAITING and self._waiting_bytes < self._most_bytes

    def _connected(self) -> None:
        self._client.subscribe(self._wanted)

    def _on_subscribe(
        self,
        client: paho.Client,
        userdata: object,
        mid: int,
        reasons: list[ReasonCode],
        properties: Properties | None,
    ) -> None:
        refused = [
            wanted
            for (wanted, _), reason in zip(self._wanted, reasons, strict=True)
            if reason.is_failure
        ]
        if refused:
            with self._changed:
                self._refused = (
                    f"the MQTT server does not let the client subscribe to {', '.join(refused)}: "
                    "check the user's rights"
                )
                self._changed.notify_all()

    def _on_message(self, client: paho.Client, userdata: object, got: paho.MQTTMessage) -> None:
        with self._changed:
            # A full queue stops the reading, and by that, in time, the server's sending.
            self._changed.wait_for(lambda: self._has_room() or self._closing)
            self._received += 1
            self._waiting_bytes += len(got.payload)
            self._waiting.append(
                Message(
                    self._received,
                    got.topic,
                    bytes(got.payload),
                    got.qos,
                    got.mid,
                    self._connection,
                )
            )
            self._changed.notify_all()


class Publisher(_Session):
    """Messages to a server, each acknowledged as its quality of service wants it."""

    def publish(
        self, messages: Sequence[tuple[str, bytes]], *, quality: int, retained: bool
    ) -> None:
        """Return when the server has them all; RetriableException if that takes too long."""
        sent = [self._client.publish(topic, data, quality, retained) for topic, data in messages]
        for info in sent:
            try:
                info.wait_for_publish(self._access.timeout_s)
                done = info.is_published()
            except (RuntimeError, ValueError) as fault:
                raise RetriableException(f"the MQTT server cannot be reached: {fault}") from fault
            if not done or info.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
                raise RetriableException(
                    "the MQTT server has not acknowledged a message within "
                    f"{self._access.timeout_s:g} s (connect.mqtt.timeout)"
                )


def _shown(host: Host) -> str:
    return f"{'ssl' if host.tls else 'tcp'}://{host.name}:{host.port}"
