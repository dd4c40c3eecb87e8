"""Backups: the records of the registry as lines of JSON, and back, byte for byte.

A line is `{"key":…,"value":…,"timestamp":…}` with the record's own JSON inside, so that it can be
read, searched and compared. Bytes that are not JSON stand there in base64. Lines as
`kafka-console-consumer --property print.key=true` prints them (key, tab, value) are read as well.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from headrace.errors import CorruptData
from headrace.registry import topic_records
from headrace.registry.keys_state import dek_key, kek_key
from headrace.registry.state import RegistryState
from headrace.registry.subjects import DEFAULT_CONTEXT


class Record(NamedTuple):
    """One record of the topic."""

    key: bytes
    value: bytes | None
    timestamp_ms: int = 0


class _Line(msgspec.Struct, omit_defaults=True):
    """A line; `Raw` keeps the bytes of the record's own JSON as they are."""

    key: msgspec.Raw = msgspec.Raw()
    key_base64: str | None = None
    value: msgspec.Raw = msgspec.Raw()
    value_base64: str | None = None
    timestamp: int = 0


_read_line = msgspec.json.Decoder(_Line).decode
_NULL = b"null"


def export_records(records: Iterable[Record]) -> Iterator[str]:
    """One line per record, without its line feed."""
    for record in records:
        line = _Line(timestamp=record.timestamp_ms)
        if _is_json(record.key):
            line.key = msgspec.Raw(record.key)
        else:
            line.key_base64 = base64.b64encode(record.key).decode()
        if record.value is None:
            line.value = msgspec.Raw(_NULL)
        elif _is_json(record.value):
            line.value = msgspec.Raw(record.value)
        else:
            line.value_base64 = base64.b64encode(record.value).decode()
        yield msgspec.json.encode(line).decode()


def _is_json(data: bytes) -> bool:
    """Whether bytes can stand in a line as they are: one JSON value, not null, on one line."""
    if data == _NULL or b"\n" in data or b"\r" in data or data != data.strip():
        return False
    try:
        msgspec.json.decode(data)
        data.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def import_records(lines: Iterable[str]) -> Iterator[Record]:
    """The records of a backup; CorruptData names the line that is none."""
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        try:
            yield _read_tabbed(text) if "\t" in text else _read(text)
        except (ValueError, RecursionError) as fault:
            raise CorruptData(
                f"line {number} of the backup is not a record of a registry ({fault}); expected "
                '{"key":…,"value":…}, or key, tab and value'
            ) from fault


def _read_tabbed(text: str) -> Record:
    key, _, value = text.partition("\t")
    msgspec.json.decode(key)
    return Record(key.encode(), None if value == "null" else value.encode())


def _read(text: str) -> Record:
    line = _read_line(text)
    key = _bytes(line.key, line.key_base64)
    if key is None:
        raise ValueError("the key is missing")
    return Record(key, _bytes(line.value, line.value_base64), line.timestamp)


def _bytes(raw: msgspec.Raw, encoded: str | None) -> bytes | None:
    if encoded is not None:
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error as fault:
            raise ValueError("what should be base64 is not") from fault
    data = bytes(raw)
    return None if data in (b"", _NULL) else data


def snapshot(state: RegistryState) -> Iterator[Record]:
    """The fewest records that make this state again, in an order that can be replayed."""
    for context, index in sorted(state.versions.contexts.items()):
        if index.is_recorded and context != DEFAULT_CONTEXT:
            key = topic_records.context_key(context)
            yield Record(key, topic_records.context_value(context))
        if index.max_id > max(index.by_id, default=0):
            value = topic_records.highest_id_value(index.max_id)
            yield Record(topic_records.noop_key(context), value)
    for scope, config in state.configs.items():
        yield Record(topic_records.config_key(scope), topic_records.config_value(scope, config))
    for scope, mode in state.modes.items():
        yield Record(topic_records.mode_key(scope), topic_records.mode_value(scope, mode))
    # Of the versions with one id the first one answers for it, so their order is kept.
    for index in state.versions.contexts.values():
        for schema_id in sorted(index.by_id):
            for each in index.by_id[schema_id]:
                value = topic_records.schema_value(
                    each.subject, each.version, schema_id, each.content, deleted=each.is_deleted
                )
                key = topic_records.schema_key(each.subject, each.version)
                yield Record(key, value, each.ts_ms)
    for association in state.associations:
        yield Record(*topic_records.association_record(association))


def key_snapshot(state: RegistryState) -> Iterator[Record]:
    """The records that make the encryption keys again, for their own topic."""
    for name, kek in state.keys.keks.items():
        yield Record(kek_key(name), msgspec.json.encode(kek.value), kek.ts_ms)
    for dek_name, versions in state.keys.deks.items():
        for number, dek in versions.items():
            yield Record(dek_key(dek_name, number), msgspec.json.encode(dek.value), dek.ts_ms)
