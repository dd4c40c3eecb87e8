"""Everything that a registry knows, built from the records of its topics and nothing else.

`replay` is the only mutator, live and at load: a decision's records reach the state by the same way
as those of years ago. Records that cannot be understood are counted and reported, never fatal,
because a registry that does not start helps nobody.
"""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import msgspec

from headrace.errors import CorruptData
from headrace.registry import topic_records
from headrace.registry.associations_table import AssociationTable
from headrace.registry.contents import Content, build_content
from headrace.registry.entities import Config
from headrace.registry.keys_state import KeysState
from headrace.registry.parsed import ParsedSchemas
from headrace.registry.replies import schema_string
from headrace.registry.subjects import DEFAULT_CONTEXT, GLOBAL_SCOPE, LARGEST_INT, context_of
from headrace.registry.topic_records import (
    AssociationValue,
    ClearSubjectValue,
    ConfigValue,
    DeleteSubjectValue,
    HighestIdValue,
    Key,
    KeyType,
    ModeValue,
    SchemaValue,
)
from headrace.registry.versions import Version, Versions
from headrace.schemas.model import MAX_SCHEMA_BYTES, SchemaType

KEY_TYPES: Final = {each.value: each for each in KeyType}
SCHEMA_TYPES: Final = {each.value: each for each in SchemaType}
MOST_FINDINGS: Final = 100
MOST_ENCODED_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Defaults:
    """What applies where nothing else is set: the settings of the service."""

    compatibility_level: str = "BACKWARD"
    validate_fields: bool = False
    mode_mutability: bool = True
    max_schema_bytes: int = MAX_SCHEMA_BYTES


class RegistryState:
    """Subjects, settings, modes, associations and encryption keys."""

    def __init__(self, defaults: Defaults | None = None) -> None:
        self.defaults = defaults or Defaults()
        self.versions = Versions()
        self.configs: dict[str | None, Config] = {}
        self.modes: dict[str | None, str] = {}
        self.associations = AssociationTable()
        self.keys = KeysState()
        self.parsed = ParsedSchemas()
        # The offset of the last record that was replayed: whoever caches can tell by it.
        self.offset = -1
        self.broken_records = 0
        self.findings: list[str] = []
        # Keys that others spelled differently than we do, by our spelling.
        self.other_spellings: dict[bytes, bytes] = {}
        self._encoded: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._encoded_bytes = 0

    # -- the topic -----------------------------------------------------------------------------

    def replay(self, key: bytes, value: bytes | None, *, offset: int, timestamp_ms: int) -> None:
        """Apply a record of `_schemas`."""
        self.offset = offset
        try:
            parsed = topic_records.read_key(key)
            self._note_spelling(parsed, key, value)
            if value is None:
                self._replay_tombstone(parsed)
            else:
                self._replay_value(parsed, value, timestamp_ms)
        except CorruptData as fault:
            self._report(f"record at offset {offset}: {fault}")

    def replay_key(
        self, key: bytes, value: bytes | None, *, offset: int, timestamp_ms: int
    ) -> None:
        """Apply a record of the topic of encryption keys."""
        try:
            self.keys.replay(key, value, timestamp_ms=timestamp_ms)
        except CorruptData as fault:
            self._report(f"record of encryption keys at offset {offset}: {fault}")

    def _report(self, finding: str) -> None:
        self.broken_records += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)

    def _note_spelling(self, parsed: Key, key: bytes, value: bytes | None) -> None:
        canonical = topic_records.canonical_key(parsed)
        if canonical is None or canonical == key:
            return
        if value is None:
            self.other_spellings.pop(canonical, None)
        else:
            self.other_spellings[canonical] = key

    def _replay_tombstone(self, key: Key) -> None:
        match key.keytype:
            case KeyType.SCHEMA if key.subject is not None and key.version is not None:
                self._forget_encoded(self.versions.get(key.subject, key.version))
                self.versions.remove(key.subject, key.version)
            case KeyType.CONFIG:
                self.configs.pop(key.subject, None)
            case KeyType.MODE:
                self.modes.pop(key.subject, None)
            case KeyType.CONTEXT if key.context is not None:
                self.versions.context(key.context).is_recorded = False
            case KeyType.ASSOC:
                self.associations.remove(key)

    def _replay_value(self, key: Key, data: bytes, timestamp_ms: int) -> None:
        keytype = KEY_TYPES.get(key.keytype)
        if keytype is None:
            raise CorruptData(f"unknown type of key {key.keytype!r}")
        if keytype is KeyType.NOOP and key.context is None:
            return
        value = topic_records.read_value(keytype, data)
        match value:
            case SchemaValue():
                self._replay_schema(key, value, timestamp_ms)
            case ConfigValue():
                fields = Config.__struct_fields__
                self.configs[key.subject] = Config(
                    **{each: getattr(value, each) for each in fields}
                )
            case ModeValue():
                self._replay_mode(key, value)
            case DeleteSubjectValue():
                self._replay_delete_subject(value)
            case ClearSubjectValue():
                self._replay_clear_subject(key.subject)
            case HighestIdValue():
                index = self.versions.context(key.context or DEFAULT_CONTEXT)
                index.max_id = max(index.max_id, min(value.max_id, LARGEST_INT))
            case AssociationValue():
                self.associations.put(value)
            case _:
                self.versions.context(value.context).is_recorded = True

    def _replay_schema(self, key: Key, value: SchemaValue, timestamp_ms: int) -> None:
        subject, number = key.subject, key.version
        if subject is None or number is None:
            raise CorruptData("the key of a schema has no subject or no version")
        if not (1 <= number <= LARGEST_INT and 0 <= value.id <= LARGEST_INT):
            raise CorruptData(f"version {number} or id {value.id} of {subject!r} is out of range")
        content = _content_of(value)
        self._forget_encoded(self.versions.get(subject, number))
        self.versions.put(Version(subject, number, value.id, content, value.deleted, timestamp_ms))

    def _replay_mode(self, key: Key, value: ModeValue) -> None:
        if value.mode is None:
            raise CorruptData("the value of a mode names none")
        self.modes[key.subject] = value.mode

    def _replay_delete_subject(self, value: DeleteSubjectValue) -> None:
        for version in self.versions.of(value.subject):
            if version.version <= value.version:
                self.versions.mark_deleted(version)
                self._forget_encoded(version)

    def _replay_clear_subject(self, scope: str | None) -> None:
        for version in list(self.versions):
            if version.is_deleted and is_in_scope(version.subject, scope):
                self._forget_encoded(version)
                self.versions.remove(version.subject, version.version)

    # -- answers that are asked for all the time -----------------------------------------------

    def encoded_schema(self, schema_id: int, context: str = DEFAULT_CONTEXT) -> bytes | None:
        """The JSON body of `GET /schemas/ids/{id}`; None if there is no such id."""
        key = (context, schema_id)
        encoded = self._encoded.get(key)
        if encoded is not None:
            self._encoded.move_to_end(key)
            return encoded
        versions = self.versions.by_id(context, schema_id)
        if not versions:
            return None
        encoded = msgspec.json.encode(schema_string(versions[0]))
        self._encoded[key] = encoded
        self._encoded_bytes += len(encoded)
        while self._encoded_bytes > MOST_ENCODED_BYTES:
            _, oldest = self._encoded.popitem(last=False)
            self._encoded_bytes -= len(oldest)
        return encoded

    def _forget_encoded(self, version: Version | None) -> None:
        if version is None or not self._encoded:
            return
        key = (context_of(version.subject), version.id)
        self._encoded_bytes -= len(self._encoded.pop(key, b""))


def is_in_scope(subject: str, scope: str | None) -> bool:
    """Whether settings of a scope are about a subject: itself, its context, or all."""
    if scope in (None, GLOBAL_SCOPE, subject):
        return True
    return scope.startswith(":.") and scope.endswith(":") and scope == f":{context_of(subject)}:"


def _content_of(value: SchemaValue) -> Content:
    kind = SCHEMA_TYPES.get(value.schema_type or SchemaType.AVRO.value)
    if kind is None:
        raise CorruptData(f"unknown type of schema {value.schema_type!r}")
    content = build_content(kind, value.schema, value.references, value.metadata, value.rule_set)
    if value.md5 is None:
        return content
    try:
        digest = base64.b64decode(value.md5, validate=True)
    except (binascii.Error, ValueError):
        raise CorruptData(f"md5 {value.md5!r} is not base64") from None
    if len(digest) != len(content.digest):
        raise CorruptData(f"md5 {value.md5!r} is not 16 bytes long")
    # Whoever wrote it had reasons: metadata that it stores encrypted has another digest.
    return Content(
        kind,
        content.text,
        content.references,
        content.metadata,
        content.rule_set,
        digest,
        value.md5,
    )
