"""Resources with settings: which one a request means, and how changes to several are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from headrace.cluster.image import Change, ClusterImage
from headrace.errors import ClientFault, Error

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata


class ResourceType(IntEnum):
    """The kinds of resources that have settings, by their numbers in the protocol."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Resource(Protocol):
    """What both alter requests say of a resource."""

    resource_type: int
    resource_name: str


class Outcome(Protocol):
    """What both alter responses say of a resource."""

    error_code: int
    error_message: str | None


R = TypeVar("R", bound=Resource)
S = TypeVar("S", bound=Outcome)


async def alter_each(
    metadata: Metadata,
    resources: Sequence[R],
    decide: Callable[[ClusterImage, R], Change],
    new_outcome: Callable[[R], S],
    *,
    validate_only: bool,
) -> list[S]:
    """Decide about each resource on its own and write what is accepted together."""
    outcomes: list[S] = []
    seen = Counter((resource.resource_type, resource.resource_name) for resource in resources)

    def decide_all(image: ClusterImage) -> list[Change]:
        accepted: list[Change] = []
        outcomes.clear()
        for resource in resources:
            outcome = new_outcome(resource)
            outcomes.append(outcome)
            try:
                if seen[resource.resource_type, resource.resource_name] > 1:
                    raise ClientFault(Error.INVALID_REQUEST, "The resource occurs twice.")
                accepted.append(decide(image, resource))
            except ClientFault as fault:
                outcome.error_code, outcome.error_message = fault.error, fault.message
        return [] if validate_only else accepted

    try:
        await metadata.change(decide_all)
    except ClientFault as fault:
        for outcome in outcomes:
            if not outcome.error_code:
                outcome.error_code, outcome.error_message = fault.error, fault.message
    return outcomes


def broker_of(metadata: Metadata, name: str) -> int | None:
    """The broker that a resource name means; None is all of them (the empty name)."""
    if not name:
        return None
    try:
        broker_id = int(name)
    except ValueError:
        raise ClientFault(
            Error.INVALID_REQUEST, f"A broker is named by its number, not by '{name}'."
        ) from None
    if broker_id not in metadata.image.brokers:
        raise ClientFault(
            Error.INVALID_REQUEST, f"Unexpected broker id {broker_id}; it is not registered."
        )
    return broker_id


def unsupported(resource_type: int) -> ClientFault:
    return ClientFault(
        Error.INVALID_REQUEST, f"Resource type {resource_type} has no settings on this broker."
    )
