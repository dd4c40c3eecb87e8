"""The registry of encryption keys."""

from __future__ import annotations

import msgspec
import pytest

from headrace.registry.deks import (
    create_dek,
    create_kek,
    delete_dek,
    delete_kek,
    get_dek,
    get_kek,
    list_dek_subjects,
    list_dek_versions,
    list_keks,
    undelete_dek,
    undelete_kek,
    update_kek,
)
from headrace.registry.entities import CreateDekRequest, CreateKekRequest, UpdateKekRequest
from headrace.registry.errors import RegistryError

from .journal import FIRST_TIMESTAMP_MS, Journal, as_json


@pytest.fixture
def journal() -> Journal:
    made = Journal()
    request = CreateKekRequest("kek", "aws-kms", "arn:1", {"b": "2", "a": "1"}, "mine")
    made.do(create_kek(made.state, request))
    return made


def dek(version: int | None = None, material: str = "ZW5j") -> CreateDekRequest:
    return CreateDekRequest("orders-value", version, None, material)


def test_records_of_keys_have_the_bytes_of_confluent(journal: Journal) -> None:
    """Keys of the topic end with their type; properties are sorted."""
    journal.do(create_dek(journal.state, "kek", dek()))
    kek, key = journal.key_records
    assert kek.key == b'{"tenant":"default","name":"kek","type":"KEK"}'
    assert kek.value == (
        b'{"name":"kek","kmsType":"aws-kms","kmsKeyId":"arn:1","kmsProps":{"a":"1","b":"2"},'
        b'"doc":"mine","shared":false,"deleted":false,"type":"KEK"}'
    )
    assert key.key == (
        b'{"tenant":"default","kekName":"kek","subject":"orders-value",'
        b'"algorithm":"AES256_GCM","version":1,"type":"DEK"}'
    )


def test_a_kek_is_made_once(journal: Journal) -> None:
    """The same again is no change."""
    again = CreateKekRequest("kek", "aws-kms", "arn:1", {"a": "1", "b": "2"}, "mine")
    assert create_kek(journal.state, again).key_writes == ()
    assert as_json(get_kek(journal.state, "kek")) == {
        "name": "kek",
        "kmsType": "aws-kms",
        "kmsKeyId": "arn:1",
        "kmsProps": {"a": "1", "b": "2"},
        "doc": "mine",
        "shared": False,
        "ts": FIRST_TIMESTAMP_MS,
    }


def test_a_kek_can_change_in_parts(journal: Journal) -> None:
    """What is absent stays, what is null goes."""
    request = msgspec.json.decode('{"doc":null,"shared":true}', type=UpdateKekRequest)
    changed = journal.do(update_kek(journal.state, "kek", request))
    assert (changed.doc, changed.shared, changed.kms_props) == (None, True, {"a": "1", "b": "2"})


def test_keks_are_listed(journal: Journal) -> None:
    """By name, with prefix and page."""
    journal.do(create_kek(journal.state, CreateKekRequest("other", "local-kms", "x")))
    assert list_keks(journal.state) == ["kek", "other"]
    assert list_keks(journal.state, prefixes=("o",)) == ["other"]
    assert list_keks(journal.state, offset=1, limit=1) == ["other"]


def test_deks_have_versions(journal: Journal) -> None:
    """-1 makes the next, and reads the latest."""
    state = journal.state
    assert journal.do(create_dek(state, "kek", dek())).version == 1
    assert journal.do(create_dek(state, "kek", dek(-1, "Mg=="))).version == 2
    assert list_dek_versions(state, "kek", "orders-value") == [1, 2]
    assert list_dek_subjects(state, "kek") == ["orders-value"]
    assert get_dek(state, "kek", "orders-value").encrypted_key_material == "ZW5j"
    assert get_dek(state, "kek", "orders-value", version="latest").version == 2
    assert create_dek(state, "kek", dek()).key_writes == ()
    with pytest.raises(RegistryError, match="already exists"):
        create_dek(state, "kek", dek(1, "b3RoZXI="))
    with pytest.raises(RegistryError, match="algorithm 'DES' is none of"):
        get_dek(state, "kek", "orders-value", algorithm="DES")


def test_keys_are_deleted_in_two_steps_and_come_back_after_the_first(journal: Journal) -> None:
    """The KEK after its DEKs."""
    state = journal.state
    journal.do(create_dek(state, "kek", dek()))
    with pytest.raises(RegistryError, match="has references"):
        delete_kek(state, "kek")
    journal.do(delete_dek(state, "kek", "orders-value"))
    assert list_dek_subjects(state, "kek") == []
    assert get_dek(state, "kek", "orders-value", deleted=True).deleted is True
    journal.do(undelete_dek(state, "kek", "orders-value", version="1"))
    assert list_dek_versions(state, "kek", "orders-value") == [1]
    journal.do(delete_dek(state, "kek", "orders-value", version="latest"))
    journal.do(delete_dek(state, "kek", "orders-value", permanent=True))
    journal.do(delete_kek(state, "kek"))
    assert list_keks(state) == []
    journal.do(undelete_kek(state, "kek"))
    assert list_keks(state) == ["kek"]
    with pytest.raises(RegistryError, match="was not deleted first"):
        delete_kek(state, "kek", permanent=True)
    journal.do(delete_kek(state, "kek"))
    journal.do(delete_kek(state, "kek", permanent=True))
    assert state.keys.keks == {}
    assert state.keys.deks == {}


def test_deks_of_a_deleted_kek_stay_deleted(journal: Journal) -> None:
    """The KEK comes back first."""
    state = journal.state
    journal.do(create_dek(state, "kek", dek()))
    journal.do(delete_dek(state, "kek", "orders-value"))
    journal.do(delete_kek(state, "kek"))
    with pytest.raises(RegistryError, match="Key 'kek' must be undeleted first"):
        undelete_dek(state, "kek", "orders-value")
