"""Clients of a Schema Registry as their users write them, one small class each.

All of them serialize under the subject `<topic>-value`, register what is missing, and give values
back as JSON's types, so that what one has written can be compared with what another reads.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import fastavro
from confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    Schema,
    SchemaRegistryClient,
)
from confluent_kafka.schema_registry._async.avro import AsyncAvroDeserializer, AsyncAvroSerializer
from confluent_kafka.schema_registry._async.json_schema import (
    AsyncJSONDeserializer,
    AsyncJSONSerializer,
)
from confluent_kafka.schema_registry._async.protobuf import (
    AsyncProtobufDeserializer,
    AsyncProtobufSerializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, json_format
from google.protobuf.message_factory import GetMessageClass
from schema_registry.client import SchemaRegistryClient as PlainClient
from schema_registry.client import schema as plain_schema
from schema_registry.serializers.message_serializer import (
    AvroMessageSerializer,
    JsonMessageSerializer,
)

from tests.clients.drivers.program import ForeignClient

T = TypeVar("T")


class Contract(NamedTuple):
    """A schema with what a client needs to use it."""

    format: str
    text: str
    message: str = ""
    descriptors: bytes = b""

    @property
    def registered(self) -> str:
        """The text that clients in Python and Node.js register: they know no `.proto` source."""
        if self.format != "PROTOBUF":
            return self.text
        (*_, file) = descriptor_pb2.FileDescriptorSet.FromString(self.descriptors).file
        return base64.b64encode(file.SerializeToString()).decode()

    def message_class(self) -> Any:
        """The class that protoc would have written for the message."""
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(self.descriptors).file:
            pool.Add(file)
        return GetMessageClass(pool.FindMessageTypeByName(self.message))


class Serdes(Protocol):
    """What each client can do here."""

    name: str
    formats: frozenset[str]

    def register(self, subject: str, contract: Contract) -> int: ...

    def encode(self, topic: str, contract: Contract, value: Any) -> bytes: ...

    def decode(self, topic: str, contract: Contract, data: bytes) -> Any: ...


class ConfluentPython:
    """confluent-kafka's serializers, in their blocking form."""

    name = "confluent-kafka"
    formats = frozenset({"AVRO", "JSON", "PROTOBUF"})

    def __init__(self, url: str) -> None:
        self.client = SchemaRegistryClient({"url": url})

    def register(self, subject: str, contract: Contract) -> int:
        schema = Schema(contract.registered, contract.format)
        return int(self.client.register_schema(subject, schema))

    def encode(self, topic: str, contract: Contract, value: Any) -> bytes:
        where = SerializationContext(topic, MessageField.VALUE)
        if contract.format == "AVRO":
            return bytes(AvroSerializer(self.client, contract.text)(value, where))
        if contract.format == "JSON":
            return bytes(JSONSerializer(contract.text, self.client)(value, where))
        kind = contract.message_class()
        settings = {"use.deprecated.format": False}
        serializer = ProtobufSerializer(kind, self.client, settings)
        return bytes(serializer(json_format.ParseDict(value, kind()), where))

    def decode(self, topic: str, contract: Contract, data: bytes) -> Any:
        where = SerializationContext(topic, MessageField.VALUE)
        if contract.format == "AVRO":
            return AvroDeserializer(self.client)(data, where)
        if contract.format == "JSON":
            return JSONDeserializer(None, schema_registry_client=self.client)(data, where)
        settings = {"use.deprecated.format": False}
        found = ProtobufDeserializer(contract.message_class(), settings, self.client)(data, where)
        return json_format.MessageToDict(found)


class ConfluentAsync:
    """The same serializers for asyncio."""

    name = "confluent-kafka (async)"
    formats = frozenset({"AVRO", "JSON", "PROTOBUF"})

    def __init__(self, url: str) -> None:
        self._url = url

    def _run(self, work: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        async def with_client() -> T:
            async with AsyncSchemaRegistryClient({"url": self._url}) as client:
                return await work(client)

        return asyncio.run(with_client())

    def register(self, subject: str, contract: Contract) -> int:
        schema = Schema(contract.registered, contract.format)
        return int(self._run(lambda client: client.register_schema(subject, schema)))

    def encode(self, topic: str, contract: Contract, value: Any) -> bytes:
        where = SerializationContext(topic, MessageField.VALUE)

        async def work(client: Any) -> bytes:
            if contract.format == "AVRO":
                serializer = await AsyncAvroSerializer(client, contract.text)
                return bytes(await serializer(value, where))
            if contract.format == "JSON":
                serializer = await AsyncJSONSerializer(contract.text, client)
                return bytes(await serializer(value, where))
            kind = contract.message_class()
            settings = {"use.deprecated.format": False}
            serializer = await AsyncProtobufSerializer(kind, client, settings)
            return bytes(await serializer(json_format.ParseDict(value, kind()), where))

        return self._run(work)

    def decode(self, topic: str, contract: Contract, data: bytes) -> Any:
        where = SerializationContext(topic, MessageField.VALUE)

        async def work(client: Any) -> Any:
            if contract.format == "AVRO":
                return await (await AsyncAvroDeserializer(client))(data, where)
            if contract.format == "JSON":
                deserializer = await AsyncJSONDeserializer(None, schema_registry_client=client)
                return await deserializer(data, where)
            settings = {"use.deprecated.format": False}
            kind = contract.message_class()
            deserializer = await AsyncProtobufDeserializer(kind, settings, client)
            return json_format.MessageToDict(await deserializer(data, where))

        return self._run(work)


class PlainPython:
    """python-schema-registry-client, which knows Avro and JSON Schema."""

    name = "python-schema-registry-client"
    formats = frozenset({"AVRO", "JSON"})

    def __init__(self, url: str) -> None:
        self._client = PlainClient(url=url)

    def _schema(self, contract: Contract) -> Any:
        kind = plain_schema.AvroSchema if contract.format == "AVRO" else plain_schema.JsonSchema
        return kind(contract.text)

    def _serializer(self, contract: Contract) -> Any:
        avro = contract.format == "AVRO"
        return (AvroMessageSerializer if avro else JsonMessageSerializer)(self._client)

    def register(self, subject: str, contract: Contract) -> int:
        return int(self._client.register(subject, self._schema(contract)))

    def encode(self, topic: str, contract: Contract, value: Any) -> bytes:
        serializer = self._serializer(contract)
        subject = f"{topic}-value"
        return bytes(serializer.encode_record_with_schema(subject, self._schema(contract), value))

    def decode(self, topic: str, contract: Contract, data: bytes) -> Any:
        return self._serializer(contract).decode_message(data)


class Foreign:
    """A client in another language, behind its program."""

    def __init__(
        self, name: str, formats: frozenset[str], url: str, program: ForeignClient
    ) -> None:
        self.name = name
        self.formats = formats
        self._url = url
        self._program = program

    def register(self, subject: str, contract: Contract) -> int:
        return int(self.call("register", contract, subject=subject))

    def encode(self, topic: str, contract: Contract, value: Any) -> bytes:
        return base64.b64decode(self.call("encode", contract, topic=topic, value=value))

    def decode(self, topic: str, contract: Contract, data: bytes) -> Any:
        return self.call("decode", contract, topic=topic, data=base64.b64encode(data).decode())

    def call(self, op: str, contract: Contract, **arguments: Any) -> Any:
        return self._program.call(
            op,
            url=self._url,
            format=contract.format,
            schema=contract.text if self.name == "java" else contract.registered,
            message=contract.message,
            descriptors=base64.b64encode(contract.descriptors).decode(),
            **arguments,
        )


def avro_payload(contract: Contract, value: Any) -> bytes:
    """The bytes of a value by fastavro alone, without any registry."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, json.loads(contract.text), value)
    return out.getvalue()


def compiled(text: str, message: str, folder: Path) -> Contract:
    """A contract of a `.proto` text, with its descriptors."""
    from grpc_tools import protoc

    source = folder / "contract.proto"
    source.write_text(text)
    target = folder / "contract.desc"
    words = ["protoc", f"-I{folder}", "--include_imports", f"--descriptor_set_out={target}"]
    assert protoc.main([*words, str(source)]) == 0
    return Contract("PROTOBUF", text, message, target.read_bytes())
