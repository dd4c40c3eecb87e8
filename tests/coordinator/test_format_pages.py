"""docs/formats/consumer-offsets.md and transaction-state.md are checked against the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group import records as group
from headrace.coordinator.transaction import records as transaction
from headrace.wire.schema import fields_of
from tests.coordinator.state_records import GROUP_RECORDS, OFFSET, TRANSACTION_RECORDS
from tests.log.format_page import hex_example

PAGES = Path(__file__).parents[2] / "docs" / "formats"


def test_the_example_of_offsets() -> None:
    """A committed offset and its tombstone are the bytes on the page."""
    key, value = group.encode_record(OFFSET)
    tombstone, _ = group.encode_record(StateRecord(OFFSET.key, None))
    assert value is not None
    assert hex_example("consumer-offsets.md") == key + value + tombstone


def test_the_example_of_transactions() -> None:
    """An open transaction is the bytes on the page."""
    key, value = transaction.encode_record(TRANSACTION_RECORDS[0])
    assert value is not None
    assert hex_example("transaction-state.md") == key + value


@pytest.mark.parametrize(
    ("page", "records"),
    [("consumer-offsets.md", GROUP_RECORDS), ("transaction-state.md", TRANSACTION_RECORDS)],
)
def test_every_field_is_named(page: str, records: tuple[StateRecord[Any, Any], ...]) -> None:
    """No field of a key or value is missing on the page."""
    text = (PAGES / page).read_text()
    for record in records:
        for message in record:
            declared: type = type(message)
            for field in fields_of(declared):
                assert re.search(rf"\b{field.name}\b", text), (page, field.name)
