"""Media types, methods, and everything that is wrong with a request before its content matters."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.registry.running import EXTENDED, V1, RunningRegistry, request, until

SCHEMA = {"schema": '{"type":"string"}'}
UNVERSIONED = "application/vnd.schemaregistry+json"
JSON = "application/json"


@pytest.mark.spec("slides:G23")
@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, V1),
        ("", V1),
        ("*/*", V1),
        ("*/anything", V1),
        ("application/*", V1),
        (V1, V1),
        (UNVERSIONED, UNVERSIONED),
        (JSON, JSON),
        (f"{V1}, {UNVERSIONED}, {JSON}", V1),
        (f"text/html, {JSON};q=0.9, */*;q=0.1", JSON),
        (f"{V1};q=0.1, {JSON};q=0.5", JSON),
        (f"{V1};q=0, */*", UNVERSIONED),
        ("APPLICATION/JSON; charset=utf-8", JSON),
        ("application/json;q=abc, */*;q=0.2", V1),
    ],
)
def test_accept_decides_on_the_media_type(
    registry: RunningRegistry, accept: str | None, expected: str
) -> None:
    """The best of what is accepted, v1 if that is left open; also on the short way to an id."""
    schema_id = registry.call("POST", "/subjects/media-types/versions", SCHEMA).body["id"]
    headers = {} if accept is None else {"Accept": accept}
    for path in ("/subjects", f"/schemas/ids/{schema_id}"):
        answer = registry.call("GET", path, headers=headers)
        assert (answer.status, answer.headers["content-type"]) == (200, expected)


@pytest.mark.parametrize("accept", ["text/plain", "application/xml", f"{JSON};q=0", ";;;,"])
def test_nothing_acceptable_is_406(registry: RunningRegistry, accept: str) -> None:
    """With the JSON body that every error has."""
    for path in ("/subjects", "/schemas/ids/1"):
        answer = registry.call("GET", path, headers={"Accept": accept})
        assert (answer.status, answer.code) == (406, 406)


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        (V1, 200),
        (UNVERSIONED, 200),
        (JSON, 200),
        ("application/json; charset=utf-8", 200),
        ("application/octet-stream", 200),
        ("", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("nonsense", 415),
    ],
)
def test_content_types(registry: RunningRegistry, content_type: str, status: int) -> None:
    """JSON under its names is taken; anything else, and no type at all, is 415."""
    answer = registry.call(
        "POST",
        "/subjects/content-types/versions",
        SCHEMA,
        headers={"Content-Type": content_type},
    )
    assert answer.status == status
    if status != 200:
        assert answer.code == status


def test_methods(registry: RunningRegistry) -> None:
    """405 names what is allowed; HEAD has no body; OPTIONS answers."""
    answer = registry.call("PATCH", "/subjects")
    assert (answer.status, answer.code) == (405, 405)
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    assert registry.call("POST", "/schemas/types", {}).status == 405
    head = registry.call("HEAD", "/subjects")
    assert (head.status, head.raw) == (200, b"")
    assert int(head.headers["content-length"]) > 1
    options = registry.call("OPTIONS", "/mode")
    assert (options.status, options.headers["allow"]) == (200, "DELETE, GET, HEAD, PUT, OPTIONS")


@pytest.mark.parametrize(
    "path", ["/x", "/subjects/a/b/c", "/schemas/ids", "/contexts/.c/x", "/subjects//versions"]
)
def test_unknown_addresses_are_404(registry: RunningRegistry, path: str) -> None:
    """In JSON, as everything."""
    answer = registry.call("GET", path)
    assert (answer.status, answer.code) == (404, 404)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"x"',
        b"1",
        b'{"schema": 1}',
        b'{"schema": {"type": "string"}}',
        b'{"schema": "{}", "version": "1"}',
        b'{"schema": "x", "references": {}}',
        b'{"schema": "x", "references": [1]}',
        b'{"schema": "x", "references": [{"name": "a"}]}',
        b'{"schema": "x", "metadata": []}',
        b'{"schema": "x", "id": 1e400}',
        b'{"schema": "x", "id": 99999999999999999999}',
        b'{"schema": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"schema": "' + b"\\u0000" * 10 + b'"}',
        b'{"schema": null}',
        b"{}",
        b'{"schema": ""}',
        b'{"schema": "x", "schemaType": "XML"}',
        b'{"schema": "[]", "schemaType": "PROTOBUF"}',
        b'{"schema": "nope", "schemaType": "JSON"}',
    ],
)
def test_bodies_that_are_wrong(registry: RunningRegistry, subject: str, body: bytes) -> None:
    """400 or 422 with a reason, never a 500, for every endpoint that takes a schema."""
    for path in (
        f"/subjects/{subject}/versions",
        f"/subjects/{subject}",
        f"/compatibility/subjects/{subject}/versions",
    ):
        answer = registry.call("POST", path, body, headers={"Content-Type": V1})
        assert answer.status in (400, 404, 422), (path, answer)
        assert answer.body["message"]
    for path in (f"/config/{subject}", f"/mode/{subject}"):
        answer = registry.call("PUT", path, body, headers={"Content-Type": V1})
        assert answer.status in (200, 400, 422), (path, answer)


def test_unknown_properties(registry: RunningRegistry, subject: str) -> None:
    """422 names the property, at any depth, unless the client says that it may be ignored."""
    path = f"/subjects/{subject}/versions"
    answer = registry.call("POST", path, {**SCHEMA, "schematype": "AVRO"})
    assert (answer.status, answer.code) == (422, 422)
    assert answer.body["message"] == "Unrecognized field: schematype"
    deep = {**SCHEMA, "ruleSet": {"domainRules": [{"name": "r", "nmae": "r"}]}}
    assert registry.call("POST", path, deep).body["message"] == "Unrecognized field: nmae"
    assert registry.call("POST", path, {**SCHEMA, "x": 1}, headers=EXTENDED).status == 200


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("deleted=TRUE", 200),
        ("deleted=yes", 200),
        ("deleted", 200),
        ("offset=0&limit=-1", 200),
        ("offset=", 200),
        ("limit=x", 404),
        ("offset=1.5", 404),
        ("offset=99999999999", 404),
        ("%zz=%zz", 200),
        ("a=%ff", 200),
        ("&".join(f"p{number}=1" for number in range(200)), 400),
    ],
)
def test_query_parameters(registry: RunningRegistry, query: str, status: int) -> None:
    """Flags are never wrong, numbers are; what is unknown has no effect; there is a limit."""
    answer = registry.call("GET", f"/subjects?{query}")
    assert answer.status == status
    if status != 200:
        assert answer.code == status


def test_a_path_that_is_no_utf_8_is_400(registry: RunningRegistry) -> None:
    """It is not taken for another name."""
    assert registry.call("GET", "/subjects/%ff%fe/versions").status == 400


def test_circular_and_deep_schemas(registry: RunningRegistry, subject: str) -> None:
    """42201 for a schema that refers to itself or nests deeper than is sensible."""
    path = f"/subjects/{subject}/versions"
    reference = {"name": "x", "subject": subject, "version": 1}
    assert registry.call("POST", path, {**SCHEMA, "references": [reference]}).code == 42201
    deep = '{"type":"array","items":' * 5_000 + '"int"' + "}" * 5_000
    assert registry.call("POST", path, {"schema": deep}).code == 42201


def test_a_schema_that_kafka_does_not_take_is_42209(
    registry: RunningRegistry, subject: str
) -> None:
    """Larger than `max.message.bytes` of the topic: a clear answer, and the next one works."""
    path = f"/subjects/{subject}/versions"
    large = json.dumps({"type": "record", "name": "R", "doc": "x" * (2 << 20), "fields": []})
    answer = registry.call("POST", path, {"schema": large})
    assert (answer.status, answer.code) == (422, 42209)
    assert "max.message.bytes" in answer.body["message"]
    assert registry.call("POST", path, SCHEMA).status == 200


def test_bodies_that_are_too_large_are_413(registry: RunningRegistry) -> None:
    """By the length that is announced, and by what comes without a length."""
    where = urlsplit(registry.url)
    assert where.hostname is not None
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=10)
    connection.putrequest("POST", "/subjects/large/versions")
    connection.putheader("Content-Type", JSON)
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 413
    assert json.loads(response.read())["error_code"] == 413
    connection.close()
    chunks = (b" " * (1 << 20) for _ in range(40))
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=10)
    with contextlib.suppress(ConnectionError):
        connection.request("POST", "/subjects/large/versions", chunks, {"Content-Type": JSON})
    with contextlib.suppress(ConnectionError):
        assert connection.getresponse().status == 413
    connection.close()
    assert registry.call("GET", "/schemas/types").status == 200


def test_a_large_body_does_not_hold_up_reads(registry: RunningRegistry, subject: str) -> None:
    """While a schema of megabytes is parsed, look-ups are answered."""
    schema_id = registry.call("POST", "/subjects/quick/versions", SCHEMA).body["id"]
    fields = ",".join(f'{{"name":"f{number}","type":"int"}}' for number in range(40_000))
    large = f'{{"type":"record","name":"R","fields":[{fields}]}}'
    where = urlsplit(registry.url)
    assert where.hostname is not None
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    body = json.dumps({"schema": large})
    headers = {"Content-Type": JSON}
    connection.request("POST", f"/compatibility/subjects/{subject}/versions", body, headers)
    slowest = 0.0
    for _ in range(20):
        started = time.monotonic()
        assert registry.call("GET", f"/schemas/ids/{schema_id}").status == 200
        slowest = max(slowest, time.monotonic() - started)
    response = connection.getresponse()
    assert response.status in (200, 422)
    connection.close()
    assert slowest < 2, slowest


# -- clients that are no clients -------------------------------------------------------------------


@contextlib.contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=10) as opened:
        yield opened


def read_all(opened: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionError):
        while chunk := opened.recv(65_536):
            data += chunk
    return data


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x00\x01",
        b"GET \xff HTTP/1.1\r\n\r\n",
        b"GET /subjects HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /subjects HTTP/1.1\r\nbad header\r\n\r\n",
    ],
)
def test_what_is_no_http_gets_json(registry: RunningRegistry, sent: bytes) -> None:
    """400 and the end of the connection."""
    with connected(registry.url) as opened:
        opened.sendall(sent)
        answer = read_all(opened)
    assert answer.startswith(b"HTTP/1.1 400")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error_code"] == 400


def test_a_head_without_end_is_431(registry: RunningRegistry) -> None:
    """Headers are bounded."""
    with connected(registry.url) as opened:
        with contextlib.suppress(ConnectionError):
            opened.sendall(b"GET /subjects HTTP/1.1\r\n" + b"X-A: " + b"a" * 200_000)
        assert read_all(opened).startswith(b"HTTP/1.1 431")


@pytest.fixture(scope="module")
def impatient(registry: RunningRegistry) -> Iterator[RunningRegistry]:
    """A follower that waits for a request for half a second only."""
    bootstrap = registry.properties["kafkastore.bootstrap.servers"]
    properties = {"request.timeout.ms": "500", "leader.eligibility": "false"}
    with RunningRegistry(bootstrap, **properties) as running:
        yield running


def test_slow_clients_are_cut_off(impatient: RunningRegistry) -> None:
    """Neither a head nor a body that does not come keeps a connection: 408."""
    with connected(impatient.url) as opened:
        opened.sendall(b"GET /subjects HTTP/1.1\r\nHo")
        assert read_all(opened).startswith(b"HTTP/1.1 408")
    with connected(impatient.url) as opened:
        assert read_all(opened).startswith(b"HTTP/1.1 408")
    lie = b"POST /subjects/a/versions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n"
    lie += b"Content-Type: application/json\r\n\r\n{"
    with connected(impatient.url) as opened:
        opened.sendall(lie)
        answer = read_all(opened)
    assert answer.startswith(b"HTTP/1.1 408")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error_code"] == 408


def test_many_silent_connections_do_no_harm(impatient: RunningRegistry) -> None:
    """Two hundred of them, and the next client is served."""
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            opened = stack.enter_context(connected(impatient.url))
            opened.sendall(b"GET /subjects HT")
        assert request(impatient.url, "GET", "/subjects").status == 200


def test_pipelined_and_kept_connections(registry: RunningRegistry) -> None:
    """Requests on one connection are answered in their order."""
    with connected(registry.url) as opened:
        opened.sendall(
            b"GET /schemas/types HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            b"GET /mode HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        )
        answer = read_all(opened)
    assert answer.count(b"HTTP/1.1 200") == 2
    assert answer.index(b"PROTOBUF") < answer.index(b"READWRITE")


def test_lookups_after_a_deletion_are_not_stale(registry: RunningRegistry, subject: str) -> None:
    """The bytes kept for an id go with the schema."""
    schema = {"schema": f'{{"type":"fixed","size":1,"name":"{subject.replace("-", "_")}"}}'}
    schema_id = registry.call("POST", f"/subjects/{subject}/versions", schema).body["id"]
    path = f"/schemas/ids/{schema_id}"
    assert registry.call("GET", path).body["deleted"] is False
    registry.call("DELETE", f"/subjects/{subject}")
    assert registry.call("GET", path).body["deleted"] is True
    registry.call("DELETE", f"/subjects/{subject}?permanent=true")
    until(lambda: registry.call("GET", path).status == 404, 5)
