"""Records of the `_schemas` topic: the bytes that Confluent's registry writes."""

from __future__ import annotations

import msgspec
import pytest

from headrace.errors import CorruptData
from headrace.registry import topic_records
from headrace.registry.contents import build_content
from headrace.registry.entities import Config, Metadata, Rule, RuleSet, SchemaReference
from headrace.registry.topic_records import AssociationValue, KeyType
from headrace.schemas.model import SchemaType

GOLDEN_KEYS = {
    b'{"keytype":"SCHEMA","subject":"orders-value","version":3,"magic":1}': (
        topic_records.schema_key("orders-value", 3)
    ),
    b'{"keytype":"CONFIG","subject":null,"magic":0}': topic_records.config_key(None),
    b'{"keytype":"CONFIG","subject":"orders-value","magic":0}': (
        topic_records.config_key("orders-value")
    ),
    b'{"keytype":"MODE","subject":null,"magic":0}': topic_records.mode_key(None),
    b'{"keytype":"MODE","subject":":.c:x","magic":0}': topic_records.mode_key(":.c:x"),
    b'{"keytype":"NOOP","magic":0}': topic_records.noop_key(),
    b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}': topic_records.delete_subject_key("a"),
    b'{"keytype":"CLEAR_SUBJECT","subject":"a","magic":0}': topic_records.clear_subject_key("a"),
    b'{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}': (
        topic_records.context_key(".c")
    ),
    b'{"keytype":"ASSOC","tenant":"default","resourceName":"orders","resourceNamespace":"lkc-1",'
    b'"resourceType":"topic","associationType":"value","magic":0}': (
        topic_records.association_key("orders", "lkc-1", "topic", "value")
    ),
}


@pytest.mark.spec("slides:G26")
@pytest.mark.parametrize("golden", GOLDEN_KEYS, ids=lambda golden: golden[:40].decode())
def test_keys_have_the_bytes_of_confluent(golden: bytes) -> None:
    """Compaction goes by the bytes of keys: every type of key is written in Confluent's order."""
    assert GOLDEN_KEYS[golden] == golden
    assert topic_records.canonical_key(topic_records.read_key(golden)) == golden


def test_an_avro_schema_has_the_bytes_of_confluent() -> None:
    """The plainest value: no type, no references, and `deleted` is always said."""
    content = build_content(SchemaType.AVRO, '{"type":"string"}', None, None, None)
    assert topic_records.schema_value("a", 1, 7, content, deleted=False) == (
        rb'{"subject":"a","version":1,"id":7,"schema":"{\"type\":\"string\"}","deleted":false}'
    )


def test_a_data_contract_has_the_bytes_of_confluent() -> None:
    """Type, references, metadata and rules stand before the schema; their parts are sorted."""
    rule = Rule(
        name="r",
        kind="CONDITION",
        mode="WRITE",
        type="CEL",
        tags=["b", "a"],
        params={"y": "2", "x": "1"},
        expr="true",
        on_failure="DLQ",
    )
    content = build_content(
        SchemaType.PROTOBUF,
        'syntax = "proto3";\n',
        [SchemaReference("other.proto", "other", 2)],
        Metadata(
            tags={"**.ssn": ["PII", "A"]}, properties={"owner": "b", "app": "a"}, sensitive=["s"]
        ),
        RuleSet(domain_rules=[rule]),
    )
    assert topic_records.schema_value("a", 1, 7, content, deleted=True) == (
        b'{"subject":"a","version":1,"id":7,"schemaType":"PROTOBUF",'
        b'"references":[{"name":"other.proto","subject":"other","version":2}],'
        b'"metadata":{"tags":{"**.ssn":["A","PII"]},"properties":{"app":"a","owner":"b"},'
        b'"sensitive":["s"]},'
        b'"ruleSet":{"domainRules":[{"name":"r","kind":"CONDITION","mode":"WRITE","type":"CEL",'
        b'"tags":["a","b"],"params":{"x":"1","y":"2"},"expr":"true","onFailure":"DLQ",'
        b'"disabled":false}]},'
        rb'"schema":"syntax = \"proto3\";\n","deleted":true}'
    )


@pytest.mark.parametrize(
    ("golden", "written"),
    [
        (b'{"compatibilityLevel":"FULL"}', (None, Config(compatibility_level="FULL"))),
        (
            b'{"subject":"a","alias":"b","normalize":true,"validateFields":false,'
            b'"compatibilityLevel":"NONE","compatibilityGroup":"major"}',
            (
                "a",
                Config(
                    alias="b",
                    normalize=True,
                    validate_fields=False,
                    compatibility_level="NONE",
                    compatibility_group="major",
                ),
            ),
        ),
    ],
)
def test_settings_have_the_bytes_of_confluent(
    golden: bytes, written: tuple[str | None, Config]
) -> None:
    """The value of a scope's settings repeats the subject, if there is one."""
    assert topic_records.config_value(*written) == golden


def test_the_other_values_have_the_bytes_of_confluent() -> None:
    """Modes, deletions, contexts and associations."""
    assert topic_records.mode_value(None, "READONLY") == b'{"mode":"READONLY"}'
    assert topic_records.mode_value("a", "IMPORT") == b'{"subject":"a","mode":"IMPORT"}'
    assert topic_records.delete_subject_value("a", 3) == b'{"subject":"a","version":3}'
    assert topic_records.clear_subject_value("a") == b'{"subject":"a"}'
    assert topic_records.context_value(".c") == b'{"tenant":"default","context":".c"}'
    association = AssociationValue(
        guid="g",
        tenant="default",
        resource_name="orders",
        resource_namespace="lkc-1",
        resource_id="id",
        resource_type="topic",
        association_type="value",
        subject="orders-value",
        lifecycle="STRONG",
    )
    assert topic_records.association_record(association)[1] == (
        b'{"guid":"g","tenant":"default","resourceName":"orders","resourceNamespace":"lkc-1",'
        b'"resourceId":"id","resourceType":"topic","associationType":"value",'
        b'"subject":"orders-value","lifecycle":"STRONG","frozen":false}'
    )


def test_keys_of_others_are_read_in_any_order() -> None:
    """Old registries and other ones order properties differently, or leave some out."""
    key = topic_records.read_key(b'{"magic":1,"version":2,"subject":"a","keytype":"SCHEMA"}')
    assert (key.keytype, key.subject, key.version) == ("SCHEMA", "a", 2)
    context = topic_records.read_key(b'{"keytype":"CONTEXT","context":".prod","magic":0}')
    assert context.context == ".prod"


def test_values_of_others_are_read() -> None:
    """The first registries wrote no type and no `deleted`; newer ones write what we do not know."""
    old = topic_records.read_value(
        KeyType.SCHEMA, b'{"subject":"a","version":1,"id":1,"schema":"\\"int\\""}'
    )
    assert isinstance(old, topic_records.SchemaValue)
    assert old.schema_type is None
    assert old.deleted is False
    new = b'{"subject":"a","version":1,"id":1,"schema":"x","deleted":false,"news":{"a":1}}'
    assert isinstance(topic_records.read_value(KeyType.SCHEMA, new), topic_records.SchemaValue)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b'{"keytype":7}', b"{" * 5_000])
def test_what_is_no_key_is_corrupt(data: bytes) -> None:
    """Any bytes give a clear fault."""
    with pytest.raises(CorruptData, match="not a key"):
        topic_records.read_key(data)


@pytest.mark.parametrize("data", [b"", b"\xff", b"null", b'{"subject":"a"}', b"[" * 5_000])
def test_what_is_no_value_is_corrupt(data: bytes) -> None:
    """Any bytes give a clear fault."""
    with pytest.raises(CorruptData, match="not a value of type SCHEMA"):
        topic_records.read_value(KeyType.SCHEMA, data)


def test_guids_are_the_md5_over_the_bytes_that_confluent_takes() -> None:
    """Text, references with four bytes of version, and a byte before metadata and before rules."""
    from hashlib import md5
    from uuid import UUID

    content = build_content(
        SchemaType.AVRO,
        '"int"',
        [SchemaReference("n", "s", 258)],
        Metadata(properties={"k": "v"}),
        RuleSet(domain_rules=[Rule(name="r", disabled=True)]),
    )
    expected = md5(b'"int"' + b"n" + b"s" + b"\x00\x00\x01\x02" + b"\x01kv" + b"\x01r\x01")
    assert content.guid == str(UUID(bytes=expected.digest()))
    assert msgspec.json.encode(content.metadata) == b'{"properties":{"k":"v"}}'
