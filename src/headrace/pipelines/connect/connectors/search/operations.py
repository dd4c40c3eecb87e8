"""Records as lines of a bulk request.

A document whose id is topic+partition+offset has the offset + 1 as its external version: the index
takes it only if that is higher than what it has, so that records that come again change nothing.

A document whose id is a key has no external version. Records of one key can come from several
topics, and from several partitions once partitions are added; their offsets cannot be compared, and
the index would not take a later record with a lower one. The order of requests decides instead, and
what comes again ends with the same documents.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from headrace.pipelines.connect.connectors.documents import json_of
from headrace.pipelines.connect.connectors.search.settings import SearchSettings
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Struct

_MOST_ID_BYTES: Final = 512
_CONFLICTS: Final = 5


@dataclass(frozen=True, slots=True)
class Operation:
    """What is asked for one row: `lines` are those of the bulk request."""

    row: int
    kind: str
    lines: str


def index_of(settings: SearchSettings, topic: str) -> str:
    """The index of a topic's documents."""
    return settings.indices().get(topic, topic.lower())


def operations(
    settings: SearchSettings, index: str, batch: Batch
) -> tuple[list[Operation], dict[int, str]]:
    """What to ask for the rows of a batch, and why there is nothing to ask for some of them."""
    made: list[Operation] = []
    refused: dict[int, str] = {}
    for row, record in enumerate(batch.records()):
        try:
            operation = _operation(settings, index, row, record)
        except DataException as fault:
            refused[row] = str(fault)
            continue
        if operation is not None:
            made.append(operation)
    return made, refused


def _operation(settings: SearchSettings, index: str, row: int, record: Record) -> Operation | None:
    if record.value is None:
        return _without_value(settings, index, row, record)
    if not isinstance(record.value, Struct | dict):
        raise DataException(
            f"a document is an object, not a {type(record.value).__name__}: use a converter that "
            "reads objects, such as JsonConverter"
        )
    text = json_of(record.value_schema, record.value)
    about: dict[str, object] = {"_index": index, "_id": _id(settings, record)}
    if settings.write_method.lower() == "upsert":
        head = json.dumps({"update": about | {"retry_on_conflict": _CONFLICTS}})
        return Operation(row, "update", f'{head}\n{{"doc":{text},"doc_as_upsert":true}}\n')
    head = json.dumps({"index": about | _version(settings, record)})
    return Operation(row, "index", f"{head}\n{text}\n")


def _without_value(
    settings: SearchSettings, index: str, row: int, record: Record
) -> Operation | None:
    behavior = settings.null_values.lower()
    if behavior == "fail":
        raise DataException(
            "the record has no value: set behavior.on.null.values to ignore or delete"
        )
    if behavior == "ignore" or settings.key_ignore:
        return None  # a document whose id is an offset cannot be meant
    about = {"_index": index, "_id": _id(settings, record)}
    return Operation(row, "delete", json.dumps({"delete": about}) + "\n")


def _version(settings: SearchSettings, record: Record) -> dict[str, object]:
    if not settings.key_ignore:
        return {}
    return {"version": record.position + 1, "version_type": "external"}


def _id(settings: SearchSettings, record: Record) -> str:
    if settings.key_ignore:
        return f"{record.topic}+{record.partition}+{record.position}"
    key = record.key
    if key is None:
        raise DataException("the record has no key to be the document's id: set key.ignore=true")
    if isinstance(key, bool):
        text = str(key).lower()
    elif isinstance(key, str | int):
        text = str(key)
    else:
        raise DataException(
            f"a key of {type(key).__name__} cannot be a document's id: take one of its fields by "
            "the transform ExtractField$Key"
        )
    if not text or len(text.encode()) > _MOST_ID_BYTES:
        raise DataException(f"a document's id has 1 to {_MOST_ID_BYTES} bytes: {text[:40]!r}…")
    return text
