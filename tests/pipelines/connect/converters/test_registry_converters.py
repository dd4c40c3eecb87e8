"""Avro, Protobuf and JSON Schema through a registry that runs."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest

from headrace.client.registry import RegistryClient, RegistrySettings
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.named import named
from headrace.pipelines.connect.faults import DataException, RetriableException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Struct
from headrace.schemas.model import SchemaType
from tests.cli.platform_process import headrace_up

FORMATS = ["AvroConverter", "ProtobufConverter", "JsonSchemaConverter"]
ORDER = schemas.struct(
    {
        "id": schemas.INT64,
        "note": schemas.OPTIONAL_STRING,
        "price": schemas.decimal(2),
        "at": schemas.timestamp(),
        "lines": schemas.array(schemas.struct({"sku": schemas.STRING}, name="acme.Line")),
    },
    name="acme.Order",
)
MORE = schemas.struct(
    [(field.name, field.schema) for field in ORDER.fields] + [("extra", schemas.OPTIONAL_STRING)],
    name="acme.Order",
)
NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with headrace_up("broker", "registry") as addresses:
        yield addresses["registry"]


@pytest.fixture
def topic() -> str:
    return f"t{uuid.uuid4().hex[:8]}"


Make = Callable[..., Converter]


@pytest.fixture
def converter(url: str) -> Iterator[Make]:
    """Makes converters by name, use and settings, and closes them."""
    made: list[Converter] = []

    def make(name: str, use: str = "value", **more: str) -> Converter:
        given = {"schema.registry.url": url, "optional.for.nullables": "true"}
        more = {key.replace("_", "."): text for key, text in more.items()}
        made.append(named(name).made(given | more, use))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def client(url: str) -> Iterator[RegistryClient]:
    made = RegistryClient(RegistrySettings.at(url))
    yield made
    made.close()


def order(note: str | None = "n") -> Struct:
    line = Struct(ORDER.fields[-1].schema.item, ["x"])
    return Struct(ORDER, [1, note, Decimal("1.50"), NOON, [line]])


@pytest.mark.spec("book2:C-10")
@pytest.mark.parametrize("name", FORMATS)
def test_values_go_through_the_registry(
    name: str, converter: Make, client: RegistryClient, topic: str
) -> None:
    """Registered under the topic's subject, framed by its id, read by another converter."""
    data = converter(name).encode(topic, ORDER, order(None))
    assert data is not None
    latest = client.latest(f"{topic}-value")
    assert data[:5] == b"\x00" + latest.id.to_bytes(4, "big")
    schema, read = converter(name).decode(topic, data)
    assert schema is not None
    assert schema == ORDER.but(version=1)
    assert isinstance(read, Struct)
    assert read.values == order(None).values
    assert converter(name).decode(topic, None) == (None, None)


@pytest.mark.parametrize("name", FORMATS)
def test_keys_and_strategies(
    name: str, converter: Make, client: RegistryClient, topic: str
) -> None:
    strategy = "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"
    made = converter(name, "key", key_subject_name_strategy=strategy)
    made.encode(topic, ORDER, order())
    found = client.latest(f"{topic}-acme.Order")
    assert found.version == 1


@pytest.mark.parametrize("name", FORMATS)
def test_schemas_that_are_not_registered(name: str, converter: Make, topic: str) -> None:
    """Without registering, a schema must be there, or the latest one is used."""
    closed = converter(name, auto_register_schemas="false")
    with pytest.raises(DataException, match=r"4040[13]"):
        closed.encode(topic, ORDER, order())
    converter(name).encode(topic, ORDER, order())
    assert closed.encode(topic, ORDER, order()) is not None
    latest = converter(name, auto_register_schemas="false", use_latest_version="true")
    data = latest.encode(topic, MORE, Struct(MORE, [*order().values, "dropped"]))
    _, read = converter(name).decode(topic, data)
    assert isinstance(read, Struct)
    assert read.given("id") == 1


def test_faults(converter: Make, client: RegistryClient, topic: str) -> None:
    """Bytes without a frame, another format, and a registry that is not there."""
    avro = converter("AvroConverter")
    with pytest.raises(DataException, match="magic byte"):
        avro.decode(topic, b"\x05abc")
    schema_id = client.register(f"{topic}-value", SchemaType.JSON, '{"type":"string"}')
    with pytest.raises(DataException, match="of type JSON, not AVRO"):
        avro.decode(topic, b"\x00" + schema_id.to_bytes(4, "big") + b"1")
    with pytest.raises(DataException, match="without a schema"):
        avro.encode(topic, None, {"a": 1})
    gone = converter("AvroConverter", schema_registry_url="http://127.0.0.1:9")
    with pytest.raises(RetriableException):
        gone.encode(topic, ORDER, order())
