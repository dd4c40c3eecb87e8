"""The resources of a Schema Registry as blocking calls, with what never changes kept.

A schema under an id, a version of a subject and the id of a registered text are facts for ever, so
each is asked for once; the latest version of a subject is believed for a few seconds. The client
parses what comes with it, references included; it refuses to know records.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode
from uuid import UUID

from headrace.client.registry.cache import Cache
from headrace.client.registry.faults import RegistryRefused, RegistryUnreachable
from headrace.client.registry.pool import NoAnswer, Pool, Reply
from headrace.client.registry.settings import RegistrySettings
from headrace.client.tls import tls_context
from headrace.schemas.formats import parse
from headrace.schemas.model import InvalidSchema, ParsedSchema, Reference, Resolved, SchemaType

MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
MAX_REFERENCES: Final = 1000
"""How many schemas one schema may lean on, directly or not."""

Json = Any
Place = tuple[str, int]
"""A subject and a version of it."""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry holds it. `resolved` has all that it leans on, dependencies first.

    Subject and version are known only where the question named a subject.
    """

    id: int
    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    resolved: tuple[Resolved, ...] = ()
    guid: UUID | None = None
    subject: str | None = None
    version: int | None = None


class RegistryClient:
    """One registry, or several instances of one."""

    def __init__(self, settings: RegistrySettings) -> None:
        self.settings = settings
        self._pool = Pool(
            settings.urls,
            timeout_s=settings.timeout_ms / 1000,
            tls=tls_context(settings.tls) if settings.tls is not None else None,
            headers=_headers(settings),
        )
        capacity = settings.cache_capacity
        self._by_id: Cache[tuple[int, str | None], RegisteredSchema] = Cache(capacity)
        self._by_guid: Cache[UUID, RegisteredSchema] = Cache(capacity)
        self._by_version: Cache[tuple[str, int], RegisteredSchema] = Cache(capacity)
        self._latest: Cache[str, RegisteredSchema] = Cache(capacity)
        self._ids: Cache[tuple[object, ...], int] = Cache(capacity)
        self._parsed: Cache[tuple[object, ...], ParsedSchema] = Cache(capacity)

    # -- schemas ----------------------------------------------------------------------------------

    def schema(self, schema_id: int, subject: str | None = None) -> RegisteredSchema:
        """The schema under an id; `subject` tells contexts apart."""
        key = (schema_id, subject)
        query = {} if subject is None else {"subject": subject}
        return self._by_id.get(key) or self._by_id.put(
            key, self._read(self.get(f"/schemas/ids/{schema_id}", query), schema_id)
        )

    def by_guid(self, guid: UUID) -> RegisteredSchema:
        """The schema under a GUID; its id is 0, for a GUID belongs to no context."""
        return self._by_guid.get(guid) or self._by_guid.put(
            guid, self._read(self.get(f"/schemas/guids/{guid}"), 0)
        )

    def version(self, subject: str, version: int) -> RegisteredSchema:
        """One version of a subject."""
        return self._version((subject, version), ())

    def _version(self, key: Place, path: tuple[Place, ...]) -> RegisteredSchema:
        """The same on the way from schema to schema that `path` remembers."""
        if key in path:
            raise RegistryRefused(200, 200, f"references of {key[0]} lead in a circle")
        known = self._by_version.get(key)
        if known is not None:
            return known
        answer = self.get(f"/subjects/{_path(key[0])}/versions/{key[1]}")
        return self._by_version.put(key, self._read(answer, 0, (*path, key)))

    def latest(self, subject: str) -> RegisteredSchema:
        """The newest version of a subject, as of a few seconds ago at most."""
        known = self._latest.get(subject)
        if known is not None:
            return known
        answer = self.get(f"/subjects/{_path(subject)}/versions/latest")
        return self._latest.put(subject, self._read(answer, 0), self.settings.latest_ttl_s)

    def register(
        self,
        subject: str,
        type: SchemaType,  # noqa: A002
        text: str,
        references: Sequence[Reference] = (),
        *,
        normalize: bool = False,
    ) -> int:
        """Register a schema under a subject, or find it there; its id."""
        key = (subject, type, text, tuple(references), normalize)
        known = self._ids.get(key)
        if known is not None:
            return known
        answer = self._post(f"/subjects/{_path(subject)}/versions", key[1:4], normalize)
        return self._ids.put(key, int(answer["id"]))

    def lookup(
        self,
        subject: str,
        type: SchemaType,  # noqa: A002
        text: str,
        references: Sequence[Reference] = (),
        *,
        normalize: bool = False,
    ) -> RegisteredSchema:
        """The version of a subject that has this schema; refused if there is none."""
        described = (type, text, tuple(references))
        return self._read(self._post(f"/subjects/{_path(subject)}", described, normalize), 0)

    def parsed(self, schema_id: int, subject: str | None = None) -> ParsedSchema:
        """The schema under an id, ready for use."""
        return self.parse(self.schema(schema_id, subject))

    def parse(self, schema: RegisteredSchema) -> ParsedSchema:
        """A schema of the registry, ready for use."""
        key = (schema.type, schema.text, schema.resolved)
        known = self._parsed.get(key)
        return known or self._parsed.put(key, parse(schema.type, schema.text, schema.resolved))

    def resolve(self, references: Iterable[Reference]) -> tuple[Resolved, ...]:
        """All schemas that these references lead to, each after those that it leans on."""
        return self._resolve(references, ())

    def _resolve(
        self, references: Iterable[Reference], path: tuple[Place, ...]
    ) -> tuple[Resolved, ...]:
        found: dict[Reference, Resolved] = {}
        for reference in references:
            schema = self._version((reference.subject, reference.version), path)
            for each in (*schema.resolved, Resolved(reference, schema.text)):
                found.setdefault(each.reference, each)
            if len(found) > MAX_REFERENCES:
                raise InvalidSchema(f"more than {MAX_REFERENCES} schemas are referred to")
        return tuple(found.values())

    # -- requests ---------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        body: Json = None,
        query: Mapping[str, str] | None = None,
    ) -> tuple[int, Json]:
        """Any request: the status and the JSON of the answer (None where it has no body).

        `path` is percent-encoded already. A status above 399 is returned, not raised.
        """
        reply = self._send(method, path, body, query)
        try:
            return reply.status, json.loads(reply.body) if reply.body else None
        except ValueError:
            text = reply.body[:200].decode(errors="replace")
            raise RegistryRefused(reply.status, reply.status, f"no JSON: {text!r}") from None

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        """Read a resource; `RegistryRefused` where that fails."""
        return self._checked(*self.request("GET", path, query=query))

    def _post(self, path: str, described: tuple[Any, ...], normalize: bool) -> Json:
        type_, text, references = described
        body: dict[str, Json] = {"schema": text}
        if type_ is not SchemaType.AVRO:
            body["schemaType"] = str(type_)
        if references:
            body["references"] = [
                {"name": each.name, "subject": each.subject, "version": each.version}
                for each in references
            ]
        query = {"normalize": "true"} if normalize else None
        return self._checked(*self.request("POST", path, body, query))

    def _send(self, method: str, path: str, body: Json, query: Mapping[str, str] | None) -> Reply:
        target = f"{path}?{urlencode(query)}" if query else path
        try:
            if body is None:
                return self._pool.request(method, target)
            data = json.dumps(body, separators=(",", ":")).encode()
            return self._pool.request(method, target, data, {"Content-Type": MEDIA_TYPE})
        except NoAnswer as error:
            raise RegistryUnreachable(
                f"no registry answers ({error}): check schema.registry.url, and that it runs"
            ) from None

    @staticmethod
    def _checked(status: int, answer: Json) -> Json:
        if status < 400:
            return answer
        said = answer if isinstance(answer, dict) else {}
        raise RegistryRefused(
            status, said.get("error_code", status), str(said.get("message", "no reason given"))
        )

    def _read(self, answer: Json, schema_id: int, path: tuple[Place, ...] = ()) -> RegisteredSchema:
        try:
            references = tuple(
                Reference(each["name"], each["subject"], each["version"])
                for each in answer.get("references") or ()
            )
            guid = answer.get("guid")
            return RegisteredSchema(
                id=answer.get("id", schema_id),
                type=SchemaType(answer.get("schemaType", "AVRO")),
                text=_text(answer["schema"]),
                references=references,
                resolved=self._resolve(references, path),
                guid=UUID(guid) if guid else None,
                subject=answer.get("subject"),
                version=answer.get("version"),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RegistryRefused(200, 200, f"not a schema: {error!r}") from None

    def close(self) -> None:
        """Close the connections that lie idle."""
        self._pool.close()


def _headers(settings: RegistrySettings) -> dict[str, str]:
    headers = {
        "Accept": MEDIA_TYPE,
        "Accept-Encoding": "identity",
        "Confluent-Accept-Unknown-Properties": "true",
    }
    if settings.bearer_token is not None:
        headers["Authorization"] = f"Bearer {settings.bearer_token}"
    elif settings.user_info is not None:
        token = base64.b64encode(settings.user_info.encode()).decode()
        headers["Authorization"] = f"Basic {token}"
    return headers


def _path(subject: str) -> str:
    return quote(subject, safe="")


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"the schema is not text but {value!r}")
    return value
