"""From values to framed bytes and back, through a real registry."""

from __future__ import annotations

import json
import uuid

import pytest

from headrace.client.registry import (
    RegistryClient,
    RegistryRefused,
    SchemaChoice,
    Serdes,
)
from headrace.schemas.framing import frame_guid_header
from headrace.schemas.model import InvalidSchema, InvalidValue, SchemaType

USER = json.dumps(
    {"type": "record", "name": "U", "fields": [{"name": "n", "type": ["null", "string"]}]}
)
PROTO = (  # annotated with what no registry has the definition of
    'syntax = "proto3"; import "buf/validate/validate.proto"; '
    "message M { int32 a = 1 [(buf.validate.field).int32.gt = 0]; message N { string b = 1; } }"
)
CASES = {
    SchemaType.AVRO: (USER, {"n": {"string": "x"}}),
    SchemaType.JSON: ('{"type":"object"}', {"a": [1]}),
    SchemaType.PROTOBUF: (PROTO, {"a": 5}),
}


@pytest.fixture
def serdes(client: RegistryClient) -> Serdes:
    return Serdes(client)


@pytest.fixture
def topic() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.mark.spec("book2:E-03", "book2:E-04", "slides:G04", "slides:G05")
@pytest.mark.parametrize("type_", list(CASES))
def test_values_survive_in_every_format(serdes: Serdes, topic: str, type_: SchemaType) -> None:
    """Magic byte, id, payload; the reader finds the schema by the id and nothing else."""
    text, value = CASES[type_]
    choice = SchemaChoice(type_, text=text)
    assert serdes.known(topic, False, choice) is None
    writer = serdes.writer(topic, False, choice)
    assert serdes.known(topic, False, choice) is writer
    assert (writer.subject, writer.version) == (f"{topic}-value", 1)
    data = writer.encode(value)
    assert data[:5] == b"\x00" + writer.schema_id.to_bytes(4, "big")
    stranger = RegistryClient(serdes.registry.settings)
    decoded = Serdes(stranger).decode(data)
    stranger.close()
    assert (decoded.value, decoded.schema_id) == (value, writer.schema_id)
    assert decoded.schema.type is type_


def test_the_guid_may_stand_in_a_header(serdes: Serdes, client: RegistryClient, topic: str) -> None:
    """Then the value is all payload."""
    writer = serdes.writer(topic, False, SchemaChoice(SchemaType.AVRO, text=USER))
    guid = client.version(f"{topic}-value", 1).guid
    assert guid is not None
    payload = writer.encode({"n": None})[5:]
    decoded = serdes.decode(payload, header=frame_guid_header(guid))
    assert (decoded.value, decoded.guid) == ({"n": None}, guid)


def test_a_nested_message_is_found_by_its_indexes(serdes: Serdes, topic: str) -> None:
    """Protobuf: [0, 0] is the first message inside the first."""
    writer = serdes.writer(topic, False, SchemaChoice(SchemaType.PROTOBUF, text=PROTO))
    data = b"\x00" + writer.schema_id.to_bytes(4, "big") + b"\x04\x00\x00" + b"\x0a\x01z"
    assert serdes.decode(data).value == {"b": "z"}


def test_schemas_are_chosen_by_id_subject_and_version(serdes: Serdes, topic: str) -> None:
    """The ways in which a request may name a schema that exists."""
    first = serdes.writer(topic, True, SchemaChoice(SchemaType.AVRO, text='"int"'))
    second = serdes.writer(topic, True, SchemaChoice(SchemaType.AVRO, text='"long"'))
    subject = f"{topic}-key"
    for choice, expected in (
        (SchemaChoice(schema_id=first.schema_id), first),
        (SchemaChoice(subject=subject, version=1), first),
        (SchemaChoice(subject=subject), second),
        (SchemaChoice(), second),
    ):
        found = serdes.writer(topic, True, choice)
        assert found.schema_id == expected.schema_id
        assert found.encode(1) == expected.encode(1)


def test_subjects_follow_the_strategy(serdes: Serdes, topic: str) -> None:
    """TopicName, RecordName, TopicRecordName."""
    name = f"R{uuid.uuid4().hex}"
    text = json.dumps({"type": "record", "name": name, "fields": []})
    for strategy, subject in (
        ("TopicNameStrategy", f"{topic}-value"),
        ("RecordNameStrategy", name),
        ("TopicRecordNameStrategy", f"{topic}-{name}"),
    ):
        choice = SchemaChoice(SchemaType.AVRO, text=text, strategy=strategy)
        assert serdes.writer(topic, False, choice).subject == subject


def test_a_schema_of_another_format_is_refused(serdes: Serdes, topic: str) -> None:
    """Writers and readers that expect one format do not take another."""
    writer = serdes.writer(topic, False, SchemaChoice(SchemaType.AVRO, text=USER))
    with pytest.raises(InvalidSchema, match="AVRO, not JSON"):
        serdes.writer(topic, False, SchemaChoice(SchemaType.JSON, schema_id=writer.schema_id))
    with pytest.raises(InvalidValue, match="AVRO, not PROTOBUF"):
        serdes.decode(writer.encode({"n": None}), expected=SchemaType.PROTOBUF)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x00\x00\x00", b"\x07hello", b"{}"])
def test_bytes_without_a_frame_are_no_value(serdes: Serdes, data: bytes) -> None:
    """`InvalidValue`, without asking the registry."""
    with pytest.raises(InvalidValue):
        serdes.decode(data)


def test_an_unknown_id_is_the_registrys_refusal(serdes: Serdes) -> None:
    """40403, so that the caller can tell it from a broken value."""
    with pytest.raises(RegistryRefused) as refused:
        serdes.decode(b"\x00\x0f\xff\xff\xff\x00")
    assert refused.value.error_code == 40403
