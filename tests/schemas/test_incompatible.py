"""The texts of Confluent's messages."""

from __future__ import annotations

from headrace.schemas.incompatible import DIFFERENT_TYPES, Incompatibility, message


def test_avros_messages_carry_additional_information() -> None:
    """An Avro fault has single quotes and three parts, with old and new filled in."""
    found = Incompatibility(
        "TYPE_MISMATCH", "/x", "in the {reader} not as in the {writer}", additional_info="more"
    )
    assert message(found, reader="new", writer="old") == (
        "{errorType:'TYPE_MISMATCH', description:'in the new not as in the old', "
        "additionalInfo:'more'}"
    )


def test_other_messages_have_two_parts() -> None:
    """A fault of JSON Schema or Protobuf has double quotes and no additional information."""
    found = Incompatibility("FIELD_KIND_CHANGED", "#/1", "the {writer} and the {reader}")
    assert message(found, reader="old", writer="new") == (
        '{errorType:"FIELD_KIND_CHANGED", description:"the new and the old"}'
    )


def test_braces_in_a_schema_do_no_harm() -> None:
    """Names with braces, which JSON Schema allows, stay as they are."""
    found = Incompatibility("K", "/", "property '{a}{0}{}' in the {reader}")
    assert "property '{a}{0}{}' in the new" in message(found, reader="new", writer="old")


def test_another_format_is_a_bare_sentence() -> None:
    """A changed format is reported as Confluent reports it, without a kind."""
    found = Incompatibility(DIFFERENT_TYPES, "/", "Incompatible because of different schema type")
    text = message(found, reader="new", writer="old")
    assert text == "Incompatible because of different schema type"
