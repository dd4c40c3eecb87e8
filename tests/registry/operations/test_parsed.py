"""The cache of parsed schemas."""

from __future__ import annotations

import pytest

from headrace.registry.errors import RegistryError
from headrace.registry.parsed import ParsedSchemas
from headrace.schemas.model import Reference, Resolved, SchemaType

from .journal import TEAM, USER


def test_a_schema_is_parsed_once() -> None:
    """The same object is used until others push it out."""
    cache = ParsedSchemas(most_schemas=2)
    first = cache.parse(SchemaType.AVRO, '"int"')
    assert cache.parse(SchemaType.AVRO, '"int"') is first
    cache.parse(SchemaType.AVRO, '"long"')
    assert cache.parse(SchemaType.AVRO, '"int"') is first
    cache.parse(SchemaType.AVRO, '"string"')
    cache.parse(SchemaType.AVRO, '"bytes"')
    assert len(cache) == 2
    assert cache.parse(SchemaType.AVRO, '"int"') is not first


def test_what_is_referred_to_makes_a_difference() -> None:
    """The same text with another meaning of its names is another schema."""
    cache = ParsedSchemas()
    other = USER.replace("int", "long")
    reference = Reference("User", "user", 1)
    first = cache.parse(SchemaType.AVRO, TEAM, [Resolved(reference, USER)])
    assert cache.parse(SchemaType.AVRO, TEAM, [Resolved(reference, other)]) is not first


def test_a_schema_that_cannot_be_parsed_is_not_kept() -> None:
    """42201 each time."""
    cache = ParsedSchemas()
    for _ in range(2):
        with pytest.raises(RegistryError, match="Invalid schema of type AVRO, details"):
            cache.parse(SchemaType.AVRO, "nonsense")
    assert len(cache) == 0


def test_large_schemas_push_out_sooner() -> None:
    """The bound is on characters as well as on schemas."""
    cache = ParsedSchemas()
    for number in range(4):
        doc = "x" * 3_000_000
        cache.parse(SchemaType.JSON, f'{{"description":"{number}{doc}"}}')
    assert len(cache) == 2
