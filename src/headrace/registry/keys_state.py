"""The encryption keys that the registry keeps for clients, and the records of their topic.

A key-encryption key (KEK) lives in a key-management service and is only named here. A
data-encryption key (DEK) is kept encrypted by its KEK, for one subject, one algorithm and one
version. The topic, `_dek_registry_keys`, has the records of Confluent's DEK registry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from headrace.errors import CorruptData
from headrace.registry.entities import Entity

TENANT: Final = "default"


class _Key(Entity, frozen=True):
    type: str = ""
    tenant: str | None = None
    name: str | None = None
    kek_name: str | None = None
    subject: str | None = None
    algorithm: str | None = None
    version: int | None = None


class _KekKey(msgspec.Struct):
    tenant: str
    name: str
    type: str


class _DekKey(msgspec.Struct, rename="camel"):
    tenant: str
    kek_name: str
    subject: str
    algorithm: str
    version: int
    type: str


def _false() -> bool:
    """A default that is written: only a literal default is left out of the JSON."""
    return False


def _no_properties() -> dict[str, str]:
    return {}


def _kek() -> str:
    return "KEK"


def _dek() -> str:
    return "DEK"


class KekValue(Entity, frozen=True):
    """A stored KEK."""

    name: str
    kms_type: str | None = None
    kms_key_id: str | None = None
    kms_props: dict[str, str] = msgspec.field(default_factory=_no_properties)
    doc: str | None = None
    shared: bool = msgspec.field(default_factory=_false)
    deleted: bool = msgspec.field(default_factory=_false)
    type: str = msgspec.field(default_factory=_kek)


class DekValue(Entity, frozen=True):
    """A stored DEK."""

    kek_name: str
    subject: str
    algorithm: str
    version: int
    encrypted_key_material: str | None = None
    deleted: bool = msgspec.field(default_factory=_false)
    type: str = msgspec.field(default_factory=_dek)


@dataclass(frozen=True, slots=True)
class StoredKek:
    """A KEK with the time of its last change."""

    value: KekValue
    ts_ms: int


@dataclass(frozen=True, slots=True)
class StoredDek:
    """A DEK with the time of its last change."""

    value: DekValue
    ts_ms: int


DekName = tuple[str, str, str]
"""KEK, subject and algorithm: what a DEK has versions of."""

_read_key = msgspec.json.Decoder(_Key).decode
_read_kek = msgspec.json.Decoder(KekValue).decode
_read_dek = msgspec.json.Decoder(DekValue).decode


def kek_key(name: str) -> bytes:
    """The key of a KEK's record."""
    return msgspec.json.encode(_KekKey(TENANT, name, "KEK"))


def dek_key(name: DekName, version: int) -> bytes:
    """The key of a DEK's record."""
    return msgspec.json.encode(_DekKey(TENANT, *name, version, "DEK"))


class KeysState:
    """All keys, built by `replay` alone."""

    def __init__(self) -> None:
        self.keks: dict[str, StoredKek] = {}
        self.deks: dict[DekName, dict[int, StoredDek]] = {}

    def replay(self, key: bytes, value: bytes | None, *, timestamp_ms: int) -> None:
        """Apply a record; CorruptData if it is none."""
        try:
            name = _read_key(key)
            if name.type == "KEK" and name.name is not None:
                self._replay_kek(name.name, value, timestamp_ms)
            elif name.type == "DEK":
                self._replay_dek(name, value, timestamp_ms)
            else:
                raise CorruptData(f"unknown type of key {name.type!r}")
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise CorruptData(f"not a record of encryption keys: {fault}") from fault

    def _replay_kek(self, name: str, value: bytes | None, timestamp_ms: int) -> None:
        if value is None:
            self.keks.pop(name, None)
        else:
            self.keks[name] = StoredKek(_read_kek(value), timestamp_ms)

    def _replay_dek(self, key: _Key, value: bytes | None, timestamp_ms: int) -> None:
        if key.kek_name is None or key.subject is None or key.algorithm is None:
            raise CorruptData("the key of a data-encryption key is not complete")
        name = (key.kek_name, key.subject, key.algorithm)
        number = key.version or 1
        if value is not None:
            self.deks.setdefault(name, {})[number] = StoredDek(_read_dek(value), timestamp_ms)
            return
        versions = self.deks.get(name, {})
        versions.pop(number, None)
        if not versions:
            self.deks.pop(name, None)
