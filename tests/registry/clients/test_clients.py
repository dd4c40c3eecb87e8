"""Clients that thousands use, unchanged, against our registry: what one writes the others read."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from schema_registry.client.errors import ClientError

from tests.clients.drivers.driver import Refused
from tests.clients.drivers.program import ForeignClient
from tests.kafka.apache_kafka import java_command
from tests.kafka.toolchain import REPOSITORY, fetched, need, run
from tests.registry.clients.serdes import (
    ConfluentAsync,
    ConfluentPython,
    Contract,
    Foreign,
    PlainPython,
    Serdes,
    avro_payload,
    compiled,
)

HERE = Path(__file__).resolve().parent
JAVA_REQUIREMENTS = REPOSITORY / "requirements" / "java-serdes.txt"
FORMATS = ("AVRO", "JSON", "PROTOBUF")
NAMES = (
    "confluent-kafka",
    "confluent-kafka (async)",
    "python-schema-registry-client",
    "java",
    "node",
)
# A logger of its own, and an old version of the jar that Maven brings.
NOT_THESE = ("logback", "proto-google-common-protos")
WITHOUT = {("python-schema-registry-client", "PROTOBUF"), ("java", "JSON")}
VALUE = {"id": 7, "name": "pump Ω", "price": 2.5}
_topics = (f"products-{number}" for number in itertools.count())

PROTO = """syntax = "proto3";
package shop;

message Product {
  int32 id = 1;
  string name = 2;
  double price = 3;%s
}
"""


def avro(*more: dict[str, Any]) -> Contract:
    fields = [
        {"name": "id", "type": "int"},
        {"name": "name", "type": "string"},
        {"name": "price", "type": "double"},
        *more,
    ]
    record = {"type": "record", "name": "Product", "namespace": "shop", "fields": fields}
    return Contract("AVRO", json.dumps(record))


def json_schema(**more: Any) -> Contract:
    properties = {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "price": {"type": "number"},
    }
    return Contract(
        "JSON",
        json.dumps(
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "title": "Product",
                "type": "object",
                "properties": properties | more,
                "additionalProperties": False,
            }
        ),
    )


@pytest.fixture(scope="module")
def contracts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Contract, Contract]]:
    """A schema of each format, and one that evolved from it with a field more."""
    folder = tmp_path_factory.mktemp("proto")
    return {
        "AVRO": (avro(), avro({"name": "unit", "type": "string", "default": "each"})),
        "JSON": (json_schema(), json_schema(unit={"type": "string"})),
        "PROTOBUF": (
            compiled(PROTO % "", "shop.Product", folder),
            compiled(PROTO % "\n  string unit = 4;", "shop.Product", folder),
        ),
    }


@pytest.fixture(scope="module")
def clients(
    registry_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Serdes]]:
    """Every client, by its name."""
    scratch = tmp_path_factory.mktemp("clients")
    with java_program(scratch) as java, node_program(scratch) as node:
        confluent = ConfluentPython(registry_url)
        every: list[Serdes] = [
            confluent,
            ConfluentAsync(registry_url),
            PlainPython(registry_url),
            Foreign("java", frozenset({"AVRO", "PROTOBUF"}), registry_url, java),
            Foreign("node", frozenset(FORMATS), registry_url, node),
        ]
        yield {client.name: client for client in every}
        confluent.client.close()


def java_program(scratch: Path) -> ForeignClient:
    """Confluent's jars come inside a wheel, by the hash that the requirements pin."""
    pinned = JAVA_REQUIREMENTS.read_bytes() + (HERE / "java" / "pom.xml").read_bytes()
    version = hashlib.sha256(pinned).hexdigest()[:12]

    def fill(folder: Path) -> None:
        # The environment of the tests has no pip of its own.
        run([sys.executable, "-m", "venv", folder / "pip"])
        download = "-m pip download --quiet --disable-pip-version-check --require-hashes --no-deps"
        python = folder / "pip" / "bin" / "python"
        run([python, *download.split(), "--dest", folder, "-r", JAVA_REQUIREMENTS])
        shutil.rmtree(folder / "pip")
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                jar = name.rpartition("/")[2]
                if jar.endswith(".jar") and not jar.startswith(NOT_THESE):
                    (folder / jar).write_bytes(archive.read(name))
        wheel.unlink()
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
        where = [f"-DoutputDirectory={folder}", "-DexcludeTransitive=true"]
        run([need("mvn"), "-q", "-B", "-f", HERE / "java" / "pom.xml", copy, *where])

    jars = fetched(f"java-serdes-{version}", fill)
    command = java_command(f"{jars}/*", HERE / "java" / "JavaSerdes.java")
    return ForeignClient("", command, stderr_path=scratch / "java.err")


def node_program(scratch: Path) -> ForeignClient:
    package = HERE / "node" / "package.json"
    version = hashlib.sha256(package.read_bytes()).hexdigest()[:12]

    def fill(folder: Path) -> None:
        shutil.copy(package, folder)
        quiet = ["--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        run([need("npm"), "install", *quiet], cwd=folder)

    modules = fetched(f"schemaregistry-js-{version}", fill) / "node_modules"
    return ForeignClient(
        "",
        [need("node"), HERE / "node" / "registry_client.js"],
        stderr_path=scratch / "node.err",
        env={"NODE_PATH": str(modules)},
    )


def decoded(value: Any) -> Any:
    return {key: each for key, each in value.items() if key != "$typeName"}


@pytest.mark.timeout(600)  # the first run fetches clients
@pytest.mark.parametrize(
    ("writer", "form"),
    [(name, form) for name in NAMES for form in FORMATS if (name, form) not in WITHOUT],
)
@pytest.mark.spec(
    "slides:G02", "slides:G04", "slides:G05", "slides:G28", "slides:G36", "book2:E-03", "book2:E-05"
)
def test_what_one_writes_all_read(
    clients: dict[str, Serdes],
    contracts: dict[str, tuple[Contract, Contract]],
    writer: str,
    form: str,
) -> None:
    """Register on first use, encode, decode in every language; an evolved schema reads it too."""
    old, new = contracts[form]
    topic = next(_topics)
    schema_id = clients[writer].register(f"{topic}-value", old)
    data = clients[writer].encode(topic, old, VALUE)
    assert data[:5] == b"\0" + schema_id.to_bytes(4, "big")
    if form == "AVRO":
        assert data[5:] == avro_payload(old, VALUE)
    readers = [client for client in clients.values() if form in client.formats]
    assert len(readers) >= 4
    for reader in readers:
        assert decoded(reader.decode(topic, old, data)) == VALUE, reader.name
    evolved = clients[writer].register(f"{topic}-value", new)
    assert evolved != schema_id
    for reader in readers:
        assert decoded(reader.decode(topic, old, data)) == VALUE, reader.name
    again = clients[writer].encode(topic, new, VALUE | {"unit": "box"})
    assert again[1:5] == evolved.to_bytes(4, "big")
    for reader in readers:
        assert decoded(reader.decode(topic, new, again)) == VALUE | {"unit": "box"}, reader.name


@pytest.mark.timeout(600)
@pytest.mark.spec("slides:G22", "slides:G11", "book2:E-07")
def test_an_incompatible_schema_is_refused_in_every_language(
    clients: dict[str, Serdes], contracts: dict[str, tuple[Contract, Contract]]
) -> None:
    """409 with code 409 or 40901; nothing is registered, and the old id stays."""
    old, _ = contracts["AVRO"]
    broken = Contract("AVRO", old.text.replace('"int"', '"string"'))
    for client in clients.values():
        subject = f"{next(_topics)}-value"
        first = client.register(subject, old)
        with pytest.raises((SchemaRegistryError, Refused, ClientError)) as refused:
            client.register(subject, broken)
        told: Any = refused.value
        if isinstance(told, ClientError):
            assert "Incompatible" in str(told)
        else:
            code = told.code if isinstance(told, Refused) else told.error_code
            assert code in (409, 40901), (client.name, told)
        assert client.register(subject, old) == first


@pytest.mark.spec(
    "slides:G13", "slides:G15", "slides:G19", "slides:G20", "admin:SR-01", "book2:E-02"
)
def test_the_whole_client_of_confluent_kafka(registry_url: str) -> None:
    """Each method of its client: subjects, versions, levels, compatibility, deletion."""
    client = SchemaRegistryClient({"url": registry_url})
    subject = f"{next(_topics)}-value"
    old, new = avro(), avro({"name": "unit", "type": "string", "default": "each"})
    schema = Schema(old.text, "AVRO")
    schema_id = client.register_schema(subject, schema)
    assert client.get_schema(schema_id).schema_str == json.dumps(
        json.loads(old.text), separators=(",", ":")
    )
    assert client.lookup_schema(subject, schema).version == 1
    assert subject in client.get_subjects()
    assert client.get_versions(subject) == [1]
    assert client.get_latest_version(subject).schema_id == schema_id
    assert client.get_version(subject, 1).schema_id == schema_id
    assert client.test_compatibility(subject, Schema(new.text, "AVRO"))
    client.set_compatibility(subject, "FULL")
    assert client.get_compatibility(subject) == "FULL"
    client.register_schema(subject, Schema(new.text, "AVRO"))
    assert client.get_versions(subject) == [1, 2]
    assert client.delete_version(subject, 2) == 2
    assert client.delete_subject(subject) == [1]
    assert client.delete_subject(subject, permanent=True) == [1, 2]
    assert subject not in client.get_subjects()
    client.close()


@pytest.mark.timeout(600)
@pytest.mark.spec("slides:G30", "admin:SR-03", "admin:SR-04")
def test_java_reads_records_as_its_own_classes(clients: dict[str, Serdes]) -> None:
    """`specific.avro.reader`: a SpecificRecord where a GenericRecord would come, in keys too."""
    java = clients["java"]
    assert isinstance(java, Foreign)
    card = Contract(
        "AVRO",
        json.dumps(
            {
                "type": "record",
                "name": "Card",
                "fields": [{"name": "suit", "type": "string"}, {"name": "card", "type": "string"}],
            }
        ),
    )
    value = {"suit": "spades", "card": "ace"}
    told = java.call("specific_avro", card, topic=next(_topics), value=value)
    assert told["generic"] == "org.apache.avro.generic.GenericData$Record"
    assert told["specific"] == told["copied"] == "Card"
    assert told["value"] == "ace of spades"
    assert told["subjects"] == ["key", "value"]


@pytest.mark.timeout(600)
@pytest.mark.spec("slides:G37")
def test_java_reads_messages_as_its_own_classes(
    clients: dict[str, Serdes], contracts: dict[str, tuple[Contract, Contract]]
) -> None:
    """`specific.protobuf.value.type` names the generated class that comes back."""
    java = clients["java"]
    assert isinstance(java, Foreign)
    told = java.call("specific_protobuf", contracts["PROTOBUF"][0], topic=next(_topics))
    assert told == {"dynamic": "com.google.protobuf.DynamicMessage", "seconds": 42}
