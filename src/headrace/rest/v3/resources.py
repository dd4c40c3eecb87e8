"""The shape that all resources share: kind, metadata with links and a resource name, related links.

Values are plain dicts in the order in which clients see them. What a field means is the business
of the module that owns the resource.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import msgspec
from starlette.requests import HTTPConnection
from starlette.responses import Response

Body: TypeAlias = dict[str, Any]

_JSON: Final = "application/json"
_encode: Final = msgspec.json.Encoder().encode


class Links:
    """Addresses and resource names below one cluster, as seen from the client of a request."""

    __slots__ = ("_base", "_crn", "cluster_id")

    def __init__(self, request: HTTPConnection, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        url = request.url
        self._base = f"{url.scheme}://{url.netloc}/v3/clusters"
        self._crn = f"crn:///kafka={cluster_id}"

    @property
    def clusters(self) -> str:
        return self._base

    def url(self, *segments: str | int) -> str:
        """The address of what these segments name, each of them escaped."""
        parts = [quote(str(segment), safe=":") for segment in (self.cluster_id, *segments)]
        return "/".join((self._base, *parts))

    def related(self, *segments: str | int) -> Body:
        return {"related": self.url(*segments)}

    def crn(self, *names: str) -> str:
        return "/".join((self._crn, *names))

    def resource(self, kind: str, self_url: str, crn: str | None, **fields: Any) -> Body:
        """One resource of this cluster."""
        metadata = {"self": self_url}
        if crn is not None:
            metadata["resource_name"] = crn
        return {"kind": kind, "metadata": metadata, "cluster_id": self.cluster_id, **fields}


def listing(kind: str, self_url: str, data: Iterable[Body]) -> Body:
    """All resources of a kind; there are no further pages."""
    return {"kind": kind, "metadata": {"self": self_url, "next": None}, "data": list(data)}


def reply(body: object, status: int = 200) -> Response:
    return Response(_encode(body), status, media_type=_JSON)


def no_content(status: int = 204) -> Response:
    return Response(status_code=status)
