"""The registry's resources through the blocking client, and what it does when things fail."""

from __future__ import annotations

import base64
import json
import socket
from uuid import UUID

import pytest

from headrace.client.registry import (
    RegistryClient,
    RegistryRefused,
    RegistrySettings,
    RegistryUnreachable,
    registry_settings,
)
from headrace.errors import ConfigError
from headrace.schemas.model import Reference, SchemaType
from tests.client.registry.answers import answering

STRING = '"string"'
ONE = (200, json.dumps({"schema": STRING}).encode())


def record(name: str, *fields: object) -> str:
    return json.dumps({"type": "record", "name": name, "fields": list(fields)})


def open_client(url: str, **properties: str) -> RegistryClient:
    return RegistryClient(registry_settings({"schema.registry.url": url, **properties}))


# -- with a real registry --------------------------------------------------------------------------


def test_a_schema_is_registered_and_found_in_every_way(
    client: RegistryClient, subject: str
) -> None:
    """By id, GUID, version, as the latest, and by its text."""
    text = record("A", {"name": "x", "type": "int"})
    schema_id = client.register(subject, SchemaType.AVRO, text)
    found = client.schema(schema_id)
    assert (found.id, found.type, json.loads(found.text)) == (
        schema_id,
        SchemaType.AVRO,
        json.loads(text),
    )
    version = client.version(subject, 1)
    assert (version.subject, version.version, version.id) == (subject, 1, schema_id)
    assert client.latest(subject) == version
    assert client.lookup(subject, SchemaType.AVRO, text).version == 1
    assert isinstance(version.guid, UUID)
    assert client.by_guid(version.guid).text == found.text
    assert client.parsed(schema_id).decode(b"\x02") == {"x": 1}
    assert client.register(subject, SchemaType.AVRO, text) == schema_id


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (SchemaType.JSON, '{"type":"object"}'),
        (SchemaType.PROTOBUF, 'syntax = "proto3"; message M { int32 a = 1; }'),
    ],
)
def test_other_formats_keep_their_type(
    client: RegistryClient, subject: str, type_: SchemaType, text: str
) -> None:
    """schemaType travels both ways."""
    schema_id = client.register(subject, type_, text)
    assert client.schema(schema_id).type is type_
    assert client.parsed(schema_id).type is type_


def test_references_come_with_the_schema_in_order(client: RegistryClient, subject: str) -> None:
    """Direct and indirect ones, each after what it leans on, so that the schema can be parsed."""
    client.register(f"{subject}-a", SchemaType.AVRO, record("A", {"name": "x", "type": "int"}))
    to_a = Reference("A", f"{subject}-a", 1)
    b = record("B", {"name": "a", "type": "A"})
    client.register(f"{subject}-b", SchemaType.AVRO, b, [to_a])
    to_b = Reference("B", f"{subject}-b", 1)
    c = record("C", {"name": "b", "type": "B"}, {"name": "a", "type": "A"})
    schema_id = client.register(subject, SchemaType.AVRO, c, [to_b, to_a])
    found = client.schema(schema_id)
    assert found.references == (to_b, to_a)
    assert [each.reference for each in found.resolved] == [to_a, to_b]
    value = {"b": {"a": {"x": 1}}, "a": {"x": 2}}
    assert client.parsed(schema_id).decode(client.parsed(schema_id).encode(value)) == value


def test_refusals_carry_code_and_text(client: RegistryClient, subject: str) -> None:
    """What the registry says, as it says it."""
    with pytest.raises(RegistryRefused, match="not found") as refused:
        client.schema(999_999)
    assert (refused.value.http_status, refused.value.error_code) == (404, 40403)
    with pytest.raises(RegistryRefused) as refused:
        client.latest(subject)
    assert refused.value.error_code == 40401
    with pytest.raises(RegistryRefused) as refused:
        client.register(subject, SchemaType.AVRO, "{")
    assert refused.value.error_code == 42201


def test_any_request_is_possible(client: RegistryClient) -> None:
    """For commands: status and JSON, errors included."""
    assert client.request("GET", "/config") == (200, {"compatibilityLevel": "BACKWARD"})
    status, body = client.request("GET", "/subjects/nobody/versions", query={"deleted": "true"})
    assert (status, body["error_code"]) == (404, 40401)


# -- with a server that follows a script -----------------------------------------------------------


def test_facts_are_asked_for_once() -> None:
    """A schema under an id never changes; the latest version is believed for a moment."""
    latest = json.dumps({"subject": "s", "version": 1, "id": 1, "schema": STRING}).encode()
    replies = {"/schemas/ids/1": ONE, "/subjects/s/versions/latest": (200, latest)}
    with answering(replies) as server:
        client = open_client(server.url)
        for _ in range(3):
            client.schema(1)
            client.latest("s")
        assert len(server.asked) == 2
        assert server.connections == 1
        short = RegistryClient(RegistrySettings((server.url,), latest_ttl_s=0.0))
        short.latest("s")
        short.latest("s")
        assert len(server.asked) == 4
        client.close()
        short.close()


def test_what_failed_is_asked_for_again() -> None:
    """An id that is unknown now may be known later."""
    with answering({}) as server:
        client = open_client(server.url)
        with pytest.raises(RegistryRefused):
            client.schema(1)
        server.replies["/schemas/ids/1"] = ONE
        assert client.schema(1).text == STRING
        client.close()


def test_the_next_address_is_tried_and_kept() -> None:
    """One that does not answer is passed over; whoever answered is asked first from then on."""
    with socket.socket() as taken, answering({"/schemas/ids/1": ONE}) as server:
        taken.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{taken.getsockname()[1]}"
        client = open_client(f"{silent}, {server.url}")
        assert client.schema(1).text == STRING
        assert client.request("GET", "/schemas/ids/1")[0] == 200
        client.close()
        alone = open_client(silent)
        with pytest.raises(RegistryUnreachable, match=f"{silent}: .*schema.registry.url"):
            alone.schema(1)


def test_a_connection_that_was_closed_meanwhile_is_replaced() -> None:
    """The caller does not notice."""
    with answering({"/schemas/ids/1": ONE, "/schemas/ids/2": ONE}) as server:
        server.closes_after_each = True
        client = open_client(server.url)
        client.schema(1)
        client.schema(2)
        assert server.connections == 2
        client.close()


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b"{}", b'{"schema":5}', b'{"schema":"x","schemaType":"XML"}', b"5"]
)
def test_answers_that_are_none_are_refused(body: bytes) -> None:
    """A server that is no registry, or a broken one, does not crash its clients."""
    with answering({"/schemas/ids/1": (200, body)}) as server:
        client = open_client(server.url)
        with pytest.raises(RegistryRefused):
            client.schema(1)
        client.close()


def test_circles_of_references_end() -> None:
    """A registry that contradicts itself cannot hold a client for ever."""
    reference = {"name": "r", "subject": "s", "version": 1}
    body = json.dumps({"schema": STRING, "references": [reference]}).encode()
    replies = {"/schemas/ids/1": (200, body), "/subjects/s/versions/1": (200, body)}
    with answering(replies) as server:
        client = open_client(server.url)
        with pytest.raises(RegistryRefused, match="circle"):
            client.schema(1)
        client.close()


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"basic.auth.user.info": "ada:l:ove"}, b"Basic " + base64.b64encode(b"ada:l:ove")),
        ({"schema.registry.basic.auth.user.info": "a:b"}, b"Basic " + base64.b64encode(b"a:b")),
        ({"bearer.auth.token": "tok"}, b"Bearer tok"),
        (
            {
                "basic.auth.credentials.source": "SASL_INHERIT",
                "sasl.username": "u",
                "sasl.password": "p",
            },
            b"Basic " + base64.b64encode(b"u:p"),
        ),
    ],
)
def test_credentials_are_sent(properties: dict[str, str], expected: bytes) -> None:
    """From every place where Confluent's clients look for them."""
    with answering({"/schemas/ids/1": ONE}) as server:
        client = open_client(server.url, **properties)
        client.schema(1)
        assert server.asked[0][2]["authorization"] == expected.decode()
        client.close()
        in_url = open_client(server.url.replace("http://", "http://x:y%40z@"))
        in_url.schema(1)
        token = base64.b64encode(b"x:y@z").decode()
        assert server.asked[1][2]["authorization"] == f"Basic {token}"
        in_url.close()


@pytest.mark.parametrize(
    "properties",
    [
        {"schema.registry.url": ""},
        {"schema.registry.url": "localhost:8081"},
        {"schema.registry.url": "http://h:x"},
        {"schema.registry.url": "http://h", "basic.auth.user.info": "nobody"},
        {"schema.registry.url": "http://h", "basic.auth.credentials.source": "GUESS"},
        {"schema.registry.url": "http://h", "request.timeout.ms": "soon"},
        {"schema.registry.url": "https://h", "ssl.truststore.location": "x.jks"},
    ],
)
def test_wrong_settings_name_their_key(properties: dict[str, str]) -> None:
    """Key, value, and what is allowed."""
    with pytest.raises(ConfigError):
        registry_settings(properties)
