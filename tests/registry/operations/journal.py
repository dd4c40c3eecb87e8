"""A registry without a service: decisions are written to a list of records and replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from headrace.registry.backup import Record, snapshot
from headrace.registry.decisions import Decision
from headrace.registry.entities import (
    Metadata,
    RegisterSchemaRequest,
    RegisterSchemaResponse,
    RuleSet,
    SchemaReference,
)
from headrace.registry.register import register
from headrace.registry.state import Defaults, RegistryState

T = TypeVar("T")

USER = '{"type":"record","name":"User","fields":[{"name":"id","type":"int"}]}'
USER_WITH_NAME = (
    '{"type":"record","name":"User","fields":[{"name":"id","type":"int"},'
    '{"name":"name","type":"string","default":""}]}'
)
# A field without default: data written before cannot be read with it.
USER_WITH_AGE = (
    '{"type":"record","name":"User","fields":[{"name":"id","type":"int"},'
    '{"name":"age","type":"int"}]}'
)
TEAM = '{"type":"record","name":"Team","fields":[{"name":"lead","type":"User"}]}'
FIRST_TIMESTAMP_MS = 1_700_000_000_000


class Journal:
    """A state and all the records that made it."""

    def __init__(self, defaults: Defaults | None = None) -> None:
        self.defaults = defaults
        self.state = RegistryState(defaults)
        self.records: list[Record] = []
        self.key_records: list[Record] = []

    def do(self, decision: Decision[T]) -> T:
        """Write and replay what was decided, then reply."""
        for key, value in decision.writes:
            self.append(key, value)
        for key, value in decision.key_writes:
            offset = len(self.key_records)
            self.key_records.append(Record(key, value, FIRST_TIMESTAMP_MS + offset))
            self.state.replay_key(
                key, value, offset=offset, timestamp_ms=FIRST_TIMESTAMP_MS + offset
            )
        return decision.reply()

    def append(self, key: bytes, value: bytes | None) -> None:
        """A record that anybody could have written."""
        offset = len(self.records)
        self.records.append(Record(key, value, FIRST_TIMESTAMP_MS + offset))
        self.state.replay(key, value, offset=offset, timestamp_ms=FIRST_TIMESTAMP_MS + offset)

    def register(
        self,
        subject: str,
        schema: str | None = USER,
        *,
        kind: str | None = None,
        references: Sequence[tuple[str, str, int]] = (),
        id: int | None = None,  # noqa: A002  (the API's own word)
        version: int | None = None,
        metadata: Metadata | None = None,
        rule_set: RuleSet | None = None,
        normalize: bool = False,
    ) -> RegisterSchemaResponse:
        """Register a schema and return the reply."""
        request = RegisterSchemaRequest(
            schema=schema,
            schema_type=kind,
            references=[SchemaReference(*each) for each in references] or None,
            id=id,
            version=version,
            metadata=metadata,
            rule_set=rule_set,
        )
        return self.do(register(self.state, subject, request, normalize=normalize))


def replayed(records: Sequence[Record], defaults: Defaults | None = None) -> RegistryState:
    """The state that records make."""
    state = RegistryState(defaults)
    for offset, record in enumerate(records):
        state.replay(record.key, record.value, offset=offset, timestamp_ms=record.timestamp_ms)
    return state


def compacted(records: Sequence[Record]) -> list[Record]:
    """What compaction leaves of records: the last of every key, and no tombstones."""
    last = {record.key: offset for offset, record in enumerate(records)}
    return [
        record
        for offset, record in enumerate(records)
        if last[record.key] == offset and record.value is not None
    ]


def contents_of(state: RegistryState) -> list[str]:
    """All that a state knows, in a form that can be compared."""
    records = (f"{each.key!r} {each.value!r} {each.timestamp_ms}" for each in snapshot(state))
    by_id = [
        f"{context} {schema_id} {[(each.subject, each.version) for each in versions]} "
        f"{state.encoded_schema(schema_id, context)!r}"
        for context, index in state.versions.contexts.items()
        for schema_id, versions in index.by_id.items()
    ]
    by_content = [
        f"{context} {key.hex()} {ids}"
        for context, index in state.versions.contexts.items()
        for key, ids in index.ids_by_content.items()
    ]
    referers = [
        f"{each.subject} {each.version} {referer.subject} {referer.version}"
        for each in state.versions
        for referer in state.versions.referers(each.subject, each.version)
    ]
    highest = [
        f"{context} {index.max_id}"
        for context, index in state.versions.contexts.items()
        if index.max_id
    ]
    return sorted([*records, *by_id, *by_content, *referers, *highest])


def as_json(entity: object) -> object:
    """An entity as a client sees it."""
    return msgspec.json.decode(msgspec.json.encode(entity))
