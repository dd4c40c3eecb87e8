"""Records of `__share_group_state`: bytes as docs/formats/share-group-state.md shows them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.share.records import (
    RecordedBatch,
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateValue,
    decode_record,
    encode_record,
)
from headrace.wire.schema import fields_of
from tests.coordinator.share.share_records import SHARE_RECORDS, SNAPSHOT
from tests.log.format_page import hex_example


@pytest.mark.parametrize("record", SHARE_RECORDS)
def test_records_come_back(record: StateRecord[Any, Any]) -> None:
    """Both types read as they were written."""
    assert decode_record(*encode_record(record)) == record


def test_the_example_on_the_page() -> None:
    """A snapshot is the bytes that the page shows."""
    key, value = encode_record(SNAPSHOT)
    assert value is not None
    assert hex_example("share-group-state.md") == key + value


def test_every_field_is_named() -> None:
    """No field of a key, a value or a batch is missing on the page."""
    page = Path(__file__).parents[3] / "docs" / "formats" / "share-group-state.md"
    text = page.read_text()
    declared: list[type] = [ShareSnapshotKey, ShareSnapshotValue, ShareUpdateValue, RecordedBatch]
    for message in declared:
        for field in fields_of(message):
            assert re.search(rf"\b{field.name}\b", text), field.name
