"""Who leads a partition instead, and where: what a client is told beside a refusal (KIP-951).

A client that gets the new leader with the refusal goes there at once, without asking for metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.errors import Error
from headrace.types import NO_LEADER

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call

HINTED: Final = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)


class LeaderNode(NamedTuple):
    """Where a broker is, on the listener that the client uses."""

    node_id: int
    host: str
    port: int
    rack: str | None


def leader_of(metadata: Metadata, topic: str, index: int) -> tuple[int, int]:
    """(leader, leader epoch) of a partition; (-1, -1) if it has none that is known."""
    image = metadata.image.partition(topic, index)
    if image is None or image.leader == NO_LEADER:
        return -1, -1
    return image.leader, image.leader_epoch


def nodes(metadata: Metadata, call: Call, leaders: Iterable[int]) -> Iterator[LeaderNode]:
    """The addresses of these brokers, each once, as far as they are known."""
    listener = call.connection.listener.name
    for leader in dict.fromkeys(leaders):
        registered = metadata.image.brokers.get(leader)
        endpoint = None if registered is None else registered.endpoints.get(listener)
        if registered is not None and endpoint is not None:
            yield LeaderNode(leader, endpoint.host, endpoint.port, registered.rack)
