"""The conversion layer: sources speak XML, JSON and Avro; applications read one format.

    python -m examples.labs.conversion_layer

A small service takes orders over HTTP in the format of each source, checks them against one schema,
and passes them on in Avro. Whoever adds up orders afterwards knows that format and no other, and
never meets an order that does not fit.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from xml.etree import ElementTree

from confluent_kafka import Message, Producer

from examples.cluster.lab import PATIENCE_S, say
from examples.labs.reading import read_topic
from examples.labs.staging import Platform, expect, on_platform
from examples.topics import create_topic
from headrace.client.registry import RegistryClient, RegistrySettings, SchemaChoice, Serdes
from headrace.schemas.avro import parse
from headrace.schemas.model import InvalidValue

TOPIC: Final = "converted-orders"
MAX_BODY_BYTES: Final = 64 * 1024
SCHEMA: Final = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "customer", "type": "string"},
            {"name": "article", "type": "string"},
            {"name": "pieces", "type": "int"},
        ],
    }
)
_AVRO: Final = parse(SCHEMA)
Order = dict[str, Any]
Answer = tuple[int, dict[str, Any]]


class Refused(Exception):
    """The order is not understood; the text says why, for the sender."""


# -- from each format to the values of the schema -------------------------------------------------


def from_json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise Refused(f"not JSON: {fault}") from None


def from_xml(body: bytes) -> object:
    """`<order customer="…"><article>…</article><pieces>…</pieces></order>`."""
    try:
        order = ElementTree.fromstring(body)
    except ElementTree.ParseError as fault:
        raise Refused(f"not XML: {fault}") from None
    pieces = order.findtext("pieces", "")
    try:
        number = int(pieces)
    except ValueError:
        raise Refused(f"pieces must be a number, not {pieces[:20]!r}") from None
    customer, article = order.get("customer"), order.findtext("article")
    return {"customer": customer, "article": article, "pieces": number}


def from_avro(body: bytes) -> object:
    return _AVRO.decode(body)


FORMATS: Final[Mapping[str, Callable[[bytes], object]]] = {
    "application/json": from_json,
    "application/xml": from_xml,
    "avro/binary": from_avro,
}


# -- the service ----------------------------------------------------------------------------------


class Layer:
    """Checks, converts, forwards; it knows nothing of what orders are for."""

    def __init__(self, servers: str, registry: RegistryClient) -> None:
        choice = SchemaChoice(text=SCHEMA)
        self._writer = Serdes(registry).writer(TOPIC, is_key=False, choice=choice)
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})

    def take(self, content_type: str, body: bytes) -> Answer:
        """The status and the body of the answer; accepted means that the broker has it."""
        convert = FORMATS.get(content_type)
        if convert is None:
            return 415, {"error": f"send one of {', '.join(FORMATS)}"}
        try:
            value = convert(body)
            data = self._writer.encode(value)
        except (Refused, InvalidValue) as fault:
            return 400, {"error": str(fault)}
        assert isinstance(value, dict), "the schema is that of a record"
        return self._forward(value["customer"], data)

    def _forward(self, key: str, data: bytes) -> Answer:
        outcome: list[tuple[Any, Message]] = []
        self._producer.produce(
            TOPIC, data, key, on_delivery=lambda *delivered: outcome.append(delivered)
        )
        self._producer.flush(PATIENCE_S)
        if not outcome or outcome[0][0] is not None:
            return 503, {"error": "the broker did not take it; send it again"}
        ((_, message),) = outcome
        return 202, {"partition": message.partition(), "offset": message.offset()}

    def close(self) -> None:
        self._producer.close()


@contextmanager
def served(layer: Layer) -> Iterator[str]:
    """The layer over HTTP; its host and port."""

    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE_S  # of a sender who does not go on

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal():
                self.close_connection = True
                self._answer(411, {"error": "say how long the order is: Content-Length"})
            elif int(length) > MAX_BODY_BYTES:
                self.close_connection = True
                self.rfile.read(min(int(length), 2 * MAX_BODY_BYTES))  # who writes does not listen
                self._answer(413, {"error": f"an order has {MAX_BODY_BYTES} bytes at most"})
            else:
                body = self.rfile.read(int(length))
                self._answer(*layer.take(self.headers.get_content_type(), body))

        def _answer(self, status: int, fields: dict[str, Any]) -> None:
            data = json.dumps(fields).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, name="conversion-layer")
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# -- the lab --------------------------------------------------------------------------------------


def post(address: str, content_type: str, body: bytes) -> Answer:
    connection = HTTPConnection(address, timeout=PATIENCE_S)
    try:
        connection.request("POST", "/orders", body, {"Content-Type": content_type})
        answer = connection.getresponse()
        fields: dict[str, Any] = json.loads(answer.read())
    finally:
        connection.close()
    print(f"{content_type}, {body[:60]!r}\n  {answer.status} {fields}", flush=True)
    return answer.status, fields


def story(platform: Platform) -> None:
    create_topic(platform.bootstrap_servers, TOPIC)
    registry = RegistryClient(RegistrySettings.at(platform.registry_url))
    layer = Layer(platform.bootstrap_servers, registry)
    try:
        with served(layer) as address:
            _story(platform, registry, address)
    finally:
        layer.close()
        registry.close()


def _story(platform: Platform, registry: RegistryClient, address: str) -> None:
    say("Three sources, three formats")
    orders: list[Order] = [
        {"customer": "ada", "article": "paddle", "pieces": 2},
        {"customer": "ben", "article": "paddle", "pieces": 3},
        {"customer": "ada", "article": "sluice", "pieces": 1},
    ]
    xml = b'<order customer="ben"><article>paddle</article><pieces>3</pieces></order>'
    sent = [
        post(address, "application/json", json.dumps(orders[0]).encode()),
        post(address, "application/xml", xml),
        post(address, "avro/binary", _AVRO.encode(orders[2])),
    ]
    expect([status for status, _ in sent], [202, 202, 202], "all three are accepted")

    say("What does not fit is refused, and its sender told why")
    refused = [
        post(address, "application/json", b'{"customer": "ada", "article": "paddle"}'),
        post(address, "application/json", b"[1, 2"),
        post(address, "application/xml", b"<order><pieces>many</pieces></order>"),
        post(address, "avro/binary", b"\x06ada"),
        post(address, "text/csv", b"ada,paddle,2"),
        post(address, "application/json", b" " * (MAX_BODY_BYTES + 1)),
    ]
    expect([status for status, _ in refused], [400, 400, 400, 400, 415, 413], "each by its fault")

    say("The application reads one format")
    serdes = Serdes(registry)
    records = read_topic(platform.bootstrap_servers, TOPIC)
    found: list[Any] = [serdes.decode(record.value or b"").value for record in records]
    expect(found, orders, "the topic has the three orders, converted, and nothing else")
    keys = [record.key for record in records]
    expect(keys, [b"ada", b"ben", b"ada"], "under the customer's name")
    pieces: Counter[str] = Counter()
    for order in found:
        pieces[order["article"]] += order["pieces"]
    expect(pieces, {"paddle": 5, "sluice": 1}, "and adding them up takes a line")


if __name__ == "__main__":
    on_platform(story)
