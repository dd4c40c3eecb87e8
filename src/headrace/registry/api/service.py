"""The registry as a service over HTTP: its errors, and where its handlers run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final

import msgspec
from starlette.requests import HTTPConnection
from starlette.responses import Response

from headrace.errors import HeadraceError
from headrace.http.bodies import decode
from headrace.http.endpoint import Endpoint
from headrace.http.faults import NoBody, RoleNeeded
from headrace.http.listeners import Listener
from headrace.http.refusals import Refusal
from headrace.http.service import Service
from headrace.registry.api.bodies import decode_strictly
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import Int32, Kind
from headrace.registry.api.routes import ENDPOINTS
from headrace.registry.errors import RegistryError
from headrace.registry.forwarding import (
    FORWARD_HEADER,
    NOT_PRIMARY_HEADER,
    Carried,
    CarriedBack,
    passed_on,
    target_of,
)
from headrace.registry.instance import NotPrimary, Registry
from headrace.registry.settings import MEDIA_TYPES
from headrace.security.users import Role

_LONG_BODY_BYTES: Final = 64 << 10
"""From here on a body is decoded by the worker, so that the event loop stays free."""
_UNKNOWN_ALLOWED: Final = "confluent-accept-unknown-properties"
_NOT_ALLOWED: Final = 40301


class RegistryService(Service):
    """An instance of the registry, and what its endpoints need of it."""

    name = "registry"
    title = "Headrace Schema Registry"
    about = "Versioned schemas and their compatibility, for Kafka's clients."
    metrics = "schema_registry"
    path_types: ClassVar[Mapping[str, Any]] = {
        "id": Int32,
        "guid": Annotated[str, msgspec.Meta(extra_json_schema={"format": "uuid"})],
        "version": Annotated[str, msgspec.Meta(pattern="^(latest|-1|[1-9][0-9]{0,8})$")],
    }

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.error_type = registry.settings.response_media_type
        self.gives = (self.error_type, *(each for each in MEDIA_TYPES if each != self.error_type))
        endpoints = [replace(each, gives=self.gives) for each in ENDPOINTS]
        super().__init__(registry.settings, endpoints)

    # -- requests ---------------------------------------------------------------------------------

    def call(self, endpoint: Endpoint, request: HTTPConnection, media_type: str) -> Call:
        return Call(self, endpoint, request, media_type)

    def role(self, call: Any) -> Role:
        """A deletion for good may take another role than one that can be undone."""
        permanent: Role | None = call.endpoint.permanent_role
        if permanent is not None and (call.flag("permanent") or call.flag("force")):
            return permanent
        needed: Role = call.endpoint.role
        return needed

    async def decode(self, call: Any, kind: Any) -> Any:
        allows_unknown = call.headers.get(_UNKNOWN_ALLOWED, "").lower() == "true"
        read = decode if allows_unknown else decode_strictly
        if len(call.raw) < _LONG_BODY_BYTES:
            return read(call.raw, kind)
        return await self.registry.compute(lambda: read(call.raw, kind))

    async def run(self, call: Any) -> object:
        registry, endpoint = self.registry, call.endpoint
        if endpoint.kind is Kind.WRITE:
            return await self._write(call)
        if endpoint.kind is Kind.COMPUTE or call.must_parse:
            return await registry.compute(lambda: endpoint.handle(call))
        return endpoint.handle(call)

    async def _write(self, call: Any) -> object:
        scope = call.request.scope
        target = target_of(scope["path"], scope["query_string"].decode("latin-1"))
        reply = await self.registry.write(
            call.endpoint.handle(call),
            Carried(scope["method"], target, passed_on(dict(call.headers)), call.raw),
            was_carried=FORWARD_HEADER in call.headers,
            may_be_known=call.endpoint.may_be_known,
        )
        if isinstance(reply, CarriedBack):
            return Response(reply.body, reply.status, media_type=reply.media_type)
        return reply

    def refusal(self, error: HeadraceError, endpoint: Endpoint | None) -> Refusal | None:
        if isinstance(error, NoBody):
            return Refusal(422, str(error))
        if isinstance(error, RoleNeeded):
            return Refusal(error.status, str(error), _NOT_ALLOWED)
        if not isinstance(error, RegistryError):
            return super().refusal(error, endpoint)
        headers: tuple[tuple[bytes, bytes], ...] = ()
        if isinstance(error, NotPrimary):
            headers = ((NOT_PRIMARY_HEADER.encode(), b"true"),)
        elif error.http_status == 503:
            headers = ((b"retry-after", b"1"),)
        return Refusal(error.http_status, error.message, error.error_code, headers)

    # -- watching ---------------------------------------------------------------------------------

    def failure(self) -> str | None:
        return self.registry.failure

    def health(self) -> Mapping[str, Any]:
        return {"primary": self.registry.is_primary}

    def gauges(self) -> Mapping[str, tuple[str, int | float]]:
        registry, state = self.registry, self.registry.state
        return {
            "primary": ("Whether this instance writes.", int(registry.is_primary)),
            "subjects": ("Subjects with versions.", len(state.versions.subjects())),
            "offset": ("Where the topic of schemas was read to.", registry.store.offset),
            "broken_records": ("Records that cannot be understood.", state.broken_records),
            "healthy": ("Whether the topics can be followed.", int(registry.failure is None)),
        }

    # -- life -------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Read the topics before the first request."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.registry.open, loop)

    def listening(self, bound: Sequence[Listener]) -> None:
        """Take part in the election, now that others can reach this instance."""
        scheme = self.registry.settings.inter_instance_protocol
        self.registry.join(next(where for where in bound if where.scheme == scheme))

    async def close(self) -> None:
        """Leave the group, so that another instance is the primary before this one is gone."""
        await asyncio.get_running_loop().run_in_executor(None, self.registry.close)
