"""Which resource a config request means: a topic, one broker, or all brokers."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from headrace.errors import ClientFault, Error

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


class ResourceType(IntEnum):
    """The kinds of resources that have settings, by their numbers in the protocol."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


def broker_of(broker: Broker, name: str) -> int | None:
    """The broker that a resource name means; None is all of them (the empty name)."""
    if not name:
        return None
    try:
        broker_id = int(name)
    except ValueError:
        raise ClientFault(
            Error.INVALID_REQUEST, f"A broker is named by its number, not by '{name}'."
        ) from None
    if broker_id not in broker.metadata.image.brokers:
        raise ClientFault(
            Error.INVALID_REQUEST, f"Unexpected broker id {broker_id}; it is not registered."
        )
    return broker_id


def unsupported(resource_type: int) -> ClientFault:
    return ClientFault(
        Error.INVALID_REQUEST, f"Resource type {resource_type} has no settings on this broker."
    )
