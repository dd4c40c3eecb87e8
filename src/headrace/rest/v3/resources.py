"""The shape that all resources share: kind, metadata with links and a resource name, related links.

What a field means is the business of the module that owns the resource.
"""

from __future__ import annotations

from typing import Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import UNSET, UnsetType

from headrace.rest.broker_calls import BrokerCalls
from headrace.rest.call import Call
from headrace.rest.v3 import faults


class Related(msgspec.Struct):
    """The address of something else."""

    related: str


class Metadata(msgspec.Struct):
    """The address of a resource, and its name among those of all clusters."""

    self_url: str = msgspec.field(name="self")
    resource_name: str | UnsetType = UNSET


class Resource(msgspec.Struct, tag_field="kind", kw_only=True):
    """One resource of a cluster; its `kind` is the name of its class."""

    metadata: Metadata
    cluster_id: str


class ListMetadata(msgspec.Struct):
    """The address of a list; there are no further pages."""

    self_url: str = msgspec.field(name="self")
    next: str | None = None


T = TypeVar("T")


class Listing(msgspec.Struct, Generic[T], tag_field="kind"):
    """All resources of a kind."""

    metadata: ListMetadata
    data: list[T]


class Links:
    """Addresses and resource names below one cluster, as seen from the client of a request."""

    __slots__ = ("_base", "_crn", "cluster_id")

    def __init__(self, call: Call, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        url = call.request.url
        self._base = f"{url.scheme}://{url.netloc}/v3/clusters"
        self._crn = f"crn:///kafka={cluster_id}"

    @property
    def clusters(self) -> ListMetadata:
        return ListMetadata(self._base)

    def url(self, *segments: str | int) -> str:
        """The address of what these segments name, each of them escaped."""
        parts = [quote(str(segment), safe=":") for segment in (self.cluster_id, *segments)]
        return "/".join((self._base, *parts))

    def related(self, *segments: str | int) -> Related:
        return Related(self.url(*segments))

    def listed(self, *segments: str | int) -> ListMetadata:
        return ListMetadata(self.url(*segments))

    def metadata(self, *segments: str | int, crn: tuple[str, ...]) -> Metadata:
        return Metadata(self.url(*segments), "/".join((self._crn, *crn)))


async def enter(call: Call) -> tuple[BrokerCalls, Links]:
    """The calls and links of the cluster in the path; any other cluster is not found."""
    calls = call.service.calls
    cluster_id = await calls.cluster_id()
    asked = call.path("cluster_id")
    if asked != cluster_id:
        raise faults.not_found(f"Cluster {asked} cannot be found.")
    return calls, Links(call, cluster_id)
