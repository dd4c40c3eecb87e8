"""A small service on the layer: everything follows from what its endpoints declare."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import jsonschema
import msgspec
import pytest
from starlette.responses import Response

from headrace.errors import HeadraceError
from headrace.http.application import build_app
from headrace.http.call import Call
from headrace.http.endpoint import Endpoint, Query, Table
from headrace.http.listeners import Listener
from headrace.http.refusals import Refusal
from headrace.http.service import Service
from headrace.http.settings import HttpSettings
from headrace.security.users import Role, User

JSON = "application/json"
SHOP = "application/vnd.shop+json"
MAX_BYTES = 100


class Item(msgspec.Struct):
    """Something to sell."""

    name: str
    price: int = 0


class Sold(Item):
    """The same, sold."""

    to: str = ""


class NoSuchItem(HeadraceError):
    """It is not in the shop."""


table = Table(reader=Role.READ_ONLY, writer=Role.DEVELOPER, tag="Items", takes=(JSON, SHOP))


@table.get(
    "/items",
    "List items",
    query=(
        Query("limit", Annotated[int, msgspec.Meta(ge=1, le=9)], "How many", default=3),
        Query("order", Literal["name", "price"]),
        Query("sold", bool, default=False),
        Query("shop", is_required=True),
    ),
    reply=list[Item],
    gives=(SHOP, JSON),
)
def list_items(call: Call) -> list[Item]:
    found = [call.query(name) for name in ("limit", "order", "sold", "shop")]
    return [Item(repr(found))]


@table.post("/items", "Offer an item", body=Item, reply=Item, status=201)
async def offer(call: Call) -> Item:
    item: Item = call.body
    if item.name == "none":
        raise NoSuchItem(item.name)
    if item.name == "broken":
        raise ValueError(item.name)
    return item


@table.put("/items/{number:int}", "Change an item", body={JSON: Item, SHOP: Sold}, reply=Item)
def change(call: Call) -> Item:
    return Item(f"{type(call.body).__name__} {call.path('number')} as {call.body_type}")


@table.post("/lenient", "Offer, or not", body=Item, needs_body=False, is_strict=False, reply=Item)
def lenient(call: Call) -> Item:
    return call.body or Item("nothing")


@table.post("/stream", "Offer many", body=Item, is_stream=True, reply=(Item, Sold))
async def stream(call: Call) -> Response:
    return Response(b"%d" % len(await call.request.body()), 202)


@table.delete("/items/{number:int}", "Take away", role=Role.ADMIN, status=204, errors=(404, 40401))
def take_away(call: Call) -> None:
    return None


class Shop(Service):
    name = "shop"
    title = "A shop"
    about = "It sells."
    metrics = "shop"
    broken: ClassVar[str | None] = None

    def refusal(self, error: HeadraceError, endpoint: Endpoint | None) -> Refusal | None:
        if isinstance(error, NoSuchItem):
            return Refusal(404, f"No {error}", 40401, ((b"x-shop", b"empty"),))
        return super().refusal(error, endpoint)

    def gauges(self) -> dict[str, tuple[str, int | float]]:
        return {"items": ("What is left.", 2)}

    def failure(self) -> str | None:
        return self.broken


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


NO_ANSWER = Answer(0, {}, b"")


class Client:
    """Asks the application of a service without a socket."""

    def __init__(self) -> None:
        settings = HttpSettings(
            listeners=(Listener("http", "127.0.0.1", 0),),
            request_max_bytes=MAX_BYTES,
            request_timeout_ms=50,
        )
        self.service = Shop(settings, table.endpoints)
        self.app = build_app(self.service)

    def ask(
        self,
        method: str,
        target: str,
        *chunks: bytes,
        user: User | None = None,
        ends: bool = True,
        is_gone: bool = False,
        **headers: str,
    ) -> Answer:
        path, _, query = target.partition("?")
        named = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": named,
            "server": ("127.0.0.1", 80),
        }
        if user is not None:
            scope["user"] = user
        coming = [
            {"type": "http.request", "body": each, "more_body": True} for each in (*chunks, b"")
        ]
        coming[-1]["more_body"] = not ends
        sent: list[Any] = []

        async def receive() -> Any:
            if is_gone:
                return {"type": "http.disconnect"}
            if not coming:
                await asyncio.sleep(10)
            return coming.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        if not sent:
            return NO_ANSWER
        start, *rest = sent
        told = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], told, b"".join(each.get("body", b"") for each in rest))


@pytest.fixture
def client() -> Client:
    return Client()


def test_queries_have_the_declared_types_and_defaults(client: Client) -> None:
    answer = client.ask("GET", "/items?shop=a&sold=true&limit=7&order=price")
    assert answer.json[0]["name"] == "[7, 'price', True, 'a']"
    assert client.ask("GET", "/items?shop=a&limit=").json[0]["name"] == "[3, None, False, 'a']"
    for wrong in ("limit=0", "limit=1e0", "limit=x", "order=size", "sold=maybe"):
        answer = client.ask("GET", f"/items?shop=a&{wrong}")
        assert (answer.status, answer.json["error_code"]) == (400, 400)
        assert wrong.partition("=")[0] in answer.json["message"]
    assert client.ask("GET", "/items").json["message"] == "shop is missing: it is required"


def test_the_reply_has_the_type_that_the_client_likes_best(client: Client) -> None:
    """One that has no choice is given as it is."""
    for accept, given in (("", SHOP), (JSON, JSON), (f"{SHOP};q=0.1, {JSON}", JSON)):
        answer = client.ask("GET", "/items?shop=a", accept=accept)
        assert (answer.status, answer.headers["content-type"]) == (200, given)
    refused = client.ask("GET", "/items?shop=a", accept="text/html")
    assert (refused.status, refused.json["error_code"]) == (406, 406)
    answer = client.ask("POST", "/items", b'{"name":"a"}', accept="text/html", content_type=JSON)
    assert (answer.status, answer.headers["content-type"]) == (201, JSON)


def test_bodies_are_decoded_by_their_type_and_media_type(client: Client) -> None:
    body = b'{"name":"a","price":1}'
    assert (
        client.ask("PUT", "/items/7", body, content_type=JSON).json["name"] == f"Item 7 as {JSON}"
    )
    told = client.ask("PUT", "/items/7", body, content_type=f"{SHOP}; charset=utf-8")
    assert told.json["name"] == f"Sold 7 as {SHOP}"
    assert client.ask("PUT", "/items/7", body, content_type="text/plain").status == 415
    assert client.ask("PUT", "/items/7", body).status == 415
    for wrong in (b"", b" ", b"{", b"[]", b'{"price":1}', b'{"name":"a","price":"1"}', b"\xff"):
        answer = client.ask("POST", "/items", wrong, content_type=JSON)
        assert (answer.status, answer.json["error_code"]) == (400, 400)
    deep = b"[" * MAX_BYTES
    assert client.ask("POST", "/items", deep, content_type=JSON).status == 400


def test_a_body_may_be_optional_lenient_or_a_stream(client: Client) -> None:
    assert client.ask("POST", "/lenient").json["name"] == "nothing"
    body = b'{"name":"a","price":"1"}'
    assert client.ask("POST", "/lenient", body).json == {"name": "a", "price": 1}
    assert client.ask("POST", "/lenient", body, content_type="text/plain").status == 415
    answer = client.ask("POST", "/stream", b"x" * MAX_BYTES, b"x", content_type=JSON)
    assert (answer.status, answer.body) == (202, b"%d" % (MAX_BYTES + 1))


def test_bodies_have_limits(client: Client) -> None:
    """413 by what is announced and by what comes, 408 for what does not; then the end."""
    large = b"x" * MAX_BYTES
    for answer in (
        client.ask("POST", "/items", content_type=JSON, content_length=str(MAX_BYTES + 1)),
        client.ask("POST", "/items", large, b"x", content_type=JSON),
    ):
        assert (answer.status, answer.headers["connection"]) == (413, "close")
    slow = client.ask("POST", "/items", b"{", ends=False, content_type=JSON)
    assert (slow.status, slow.headers["connection"]) == (408, "close")


def test_roles_are_checked_before_the_body(client: Client) -> None:
    reader, developer = (User(str(role), "", role) for role in (Role.READ_ONLY, Role.DEVELOPER))
    assert client.ask("GET", "/items?shop=a", user=reader).status == 200
    refused = client.ask("POST", "/items", b"{", user=reader)
    assert refused.status == 403
    assert refused.json["message"].endswith("may not POST /items: it takes the role developer")
    assert client.ask("DELETE", "/items/1", user=developer).status == 403
    assert client.ask("DELETE", "/items/1").status == 204


def test_methods_and_paths(client: Client) -> None:
    answer = client.ask("PATCH", "/items")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST, OPTIONS")
    assert client.ask("OPTIONS", "/items").headers["allow"] == "GET, HEAD, POST, OPTIONS"
    for path in ("/nowhere", "/items/x", "/items/"):
        answer = client.ask("GET", path)
        assert (answer.status, answer.json) == (
            404,
            {"error_code": 404, "message": "HTTP 404 Not Found"},
        )


def test_a_web_socket_to_nowhere_is_closed(client: Client) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    scope = {"type": "websocket", "path": "/nowhere", "headers": []}
    asyncio.run(client.app(scope, receive, send))
    assert sent == ["websocket.close"]


def test_errors_are_the_services_own(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    """What it does not know is logged with its trace, and answered without."""
    told = client.ask("POST", "/items", b'{"name":"none"}', content_type=JSON)
    assert (told.status, told.headers["x-shop"]) == (404, "empty")
    assert told.json == {"error_code": 40401, "message": "No none"}
    broken = client.ask("POST", "/items", b'{"name":"broken"}', content_type=JSON)
    assert (broken.status, broken.json["error_code"]) == (500, 500)
    assert "ValueError" in caplog.text
    assert b"ValueError" not in broken.body


def test_a_client_that_has_gone_is_not_answered(client: Client) -> None:
    answer = client.ask("POST", "/items", b"{", is_gone=True, content_type=JSON)
    assert answer == NO_ANSWER
    assert not client.service.requests


def test_health_and_metrics(client: Client) -> None:
    for path in ("/items?shop=a", "/items?shop=a", "/items", "/nowhere"):
        client.ask("GET", path)
    client.ask("BREW", "/items")
    text = client.ask("GET", "/metrics").body.decode().splitlines()
    assert 'shop_requests_total{route="/items",method="GET",status="200"} 2' in text
    assert 'shop_requests_total{route="/items",method="GET",status="400"} 1' in text
    assert 'shop_requests_total{route="/items",method="other",status="405"} 1' in text
    assert 'shop_requests_total{route="unmatched",method="GET",status="404"} 1' in text
    assert text[-3:] == [
        "# HELP shop_items What is left.",
        "# TYPE shop_items gauge",
        "shop_items 2",
    ]
    assert client.ask("GET", "/healthz").json == {"status": "ok"}


def test_a_service_that_fails_says_why(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shop, "broken", "sold out")
    answer = client.ask("GET", "/healthz")
    assert (answer.status, answer.json) == (503, {"status": "failing", "reason": "sold out"})


def test_the_description_is_made_of_the_types(client: Client) -> None:
    document = client.ask("GET", "/openapi.json").json
    assert document["info"]["title"] == "A shop"
    listed = document["paths"]["/items"]["get"]
    by_name = {each["name"]: each for each in listed["parameters"]}
    assert by_name["limit"]["schema"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "default": 3,
    }
    assert by_name["shop"]["required"]
    assert set(listed["responses"]["200"]["content"]) == {SHOP, JSON}
    assert "406" in listed["responses"]
    changed = document["paths"]["/items/{number}"]["put"]
    assert changed["parameters"][0]["schema"]["type"] == "integer"
    content = changed["requestBody"]["content"]
    assert content[SHOP]["schema"] == {"$ref": "#/components/schemas/Sold"}
    assert {"408", "413", "415"} <= changed["responses"].keys()
    removed = document["paths"]["/items/{number}"]["delete"]
    assert "content" not in removed["responses"]["204"]
    assert removed["responses"]["404"]["description"] == "Not found; error_code 40401"
    assert removed["description"] == "Role: admin."
    assert not document["paths"]["/lenient"]["post"]["requestBody"]["required"]
    streamed = document["paths"]["/stream"]["post"]["responses"]["200"]["content"][JSON]["schema"]
    assert len(streamed["anyOf"]) == 2
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
