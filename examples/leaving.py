"""How a member of a group ends: it leaves first, and closes when it has nothing any more."""

from __future__ import annotations

import time
from typing import Final

from confluent_kafka import Consumer

TIMEOUT_S: Final = 10.0
_TURN_S: Final = 0.05


def leave(consumer: Consumer) -> None:
    """Leave the group, then close.

    librdkafka does not come back from a close that finds an assignment in its queue (its issue
    4884), and another member that leaves at the same time may just have brought one.
    """
    consumer.unsubscribe()
    until = time.monotonic() + TIMEOUT_S
    consumer.poll(_TURN_S)
    while consumer.assignment() and time.monotonic() < until:
        consumer.poll(_TURN_S)
    consumer.close()
