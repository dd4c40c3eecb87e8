"""The registry of encryption keys."""

from __future__ import annotations

from collections.abc import Callable

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


def code_of(do: Callable[[], object]) -> int:
    """The code of the error that this ends with."""
    with pytest.raises(RegistryError) as refused:
        do()
    return refused.value.error_code


def test_a_kek_is_made_once(journal: Journal) -> None:
    """The same again is a conflict, unless it is deleted now and was not, or the reverse."""
    state = journal.state
    again = CreateKekRequest("kek", "aws-kms", "arn:1", {"a": "1", "b": "2"}, "mine")
    deleted = msgspec.structs.replace(again, deleted=True)
    assert code_of(lambda: create_kek(state, again)) == 40971
    journal.do(create_kek(state, deleted))
    assert code_of(lambda: create_kek(state, deleted)) == 40971
    assert code_of(lambda: create_kek(state, msgspec.structs.replace(again, doc="x"))) == 40971
    assert code_of(lambda: get_kek(state, "kek")) == 40470
    assert journal.do(create_kek(state, again)).deleted is None


def test_a_kek_is_shown_as_it_was_made(journal: Journal) -> None:
    """Properties in order, and the time."""
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
    """By name, with a page, or by the subjects of their DEKs."""
    journal.do(create_kek(journal.state, CreateKekRequest("other", "local-kms", "x")))
    assert list_keks(journal.state) == ["kek", "other"]
    journal.do(create_dek(journal.state, "other", dek()))
    assert list_keks(journal.state, prefixes=("x", "orders-")) == ["other"]
    assert list_keks(journal.state, prefixes=("other",)) == []
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
    assert list_dek_versions(state, "kek", "none") == []
    assert code_of(lambda: create_dek(state, "kek", dek())) == 40971
    assert code_of(lambda: create_dek(state, "kek", dek(1, "b3RoZXI="))) == 40971
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


def test_a_dek_that_is_made_again_comes_back(journal: Journal) -> None:
    """Creation takes a soft deletion back, and with `deleted` it is one; another key conflicts."""
    state = journal.state
    journal.do(create_dek(state, "kek", dek()))
    journal.do(delete_dek(state, "kek", "orders-value"))
    assert code_of(lambda: create_dek(state, "kek", dek(1, "b3RoZXI="))) == 40971
    assert journal.do(create_dek(state, "kek", dek())).deleted is None
    gone = msgspec.structs.replace(dek(), deleted=True)
    assert journal.do(create_dek(state, "kek", gone)).deleted is True
    assert code_of(lambda: create_dek(state, "kek", gone)) == 40971


def test_under_a_deleted_kek_only_deleted_deks_are_made(journal: Journal) -> None:
    """As an import brings them; without `deleted` the KEK is not found."""
    state = journal.state
    journal.do(delete_kek(state, "kek"))
    assert code_of(lambda: create_dek(state, "kek", dek())) == 40470
    gone = msgspec.structs.replace(dek(), deleted=True)
    assert journal.do(create_dek(state, "kek", gone)).deleted is True
    assert get_dek(state, "kek", "orders-value", deleted=True).version == 1
    assert code_of(lambda: get_dek(state, "kek", "orders-value")) == 40470


def test_the_order_of_errors(journal: Journal) -> None:
    """The KEK's name, the subject, the version, the KEK, the DEK, and at last the material."""
    state = journal.state
    journal.do(create_dek(state, "kek", dek()))
    empty = CreateDekRequest("orders-value")
    nameless = CreateDekRequest("")
    assert code_of(lambda: create_dek(state, "kek", empty)) == 40971
    assert code_of(lambda: create_dek(state, "kek", CreateDekRequest("new"))) == 42271
    assert code_of(lambda: create_dek(state, "none", CreateDekRequest("new"))) == 40470
    assert code_of(lambda: create_dek(state, "none", nameless)) == 42271
    assert code_of(lambda: create_dek(state, "none", CreateDekRequest("a\n"))) == 42271
    assert code_of(lambda: get_dek(state, "1", "a", version="x")) == 42271
    assert code_of(lambda: get_dek(state, "none", "a", version="x")) == 42202
    assert code_of(lambda: delete_dek(state, "none", "a", version="x")) == 42202
    assert code_of(lambda: undelete_dek(state, "none", "a")) == 40470
    journal.do(delete_dek(state, "kek", "orders-value"))
    journal.do(delete_kek(state, "kek"))
    assert code_of(lambda: undelete_dek(state, "kek", "none")) == 40470
    assert code_of(lambda: undelete_dek(state, "kek", "orders-value")) == 40472


def test_what_changes_nothing_writes_nothing(journal: Journal) -> None:
    """A second soft deletion, and an update with what is there."""
    state = journal.state
    journal.do(create_dek(state, "kek", dek()))
    same = msgspec.json.decode('{"doc":"mine","shared":false}', type=UpdateKekRequest)
    assert update_kek(state, "kek", same).key_writes == ()
    journal.do(delete_dek(state, "kek", "orders-value"))
    assert delete_dek(state, "kek", "orders-value").key_writes == ()
    journal.do(delete_kek(state, "kek"))
    assert delete_kek(state, "kek").key_writes == ()


def test_types_of_key_management_services_have_one_name(journal: Journal) -> None:
    """Whatever begins like the name of a large one is that one."""
    for given, kept in (("AWS", "aws-kms"), ("azure-x", "azure-kms"), ("Vault", "Vault")):
        request = CreateKekRequest(f"k{kept.replace('-', '_')}", given, "id")
        assert journal.do(create_kek(journal.state, request)).kms_type == kept


def test_deks_of_a_deleted_kek_stay_deleted(journal: Journal) -> None:
    """The KEK comes back first."""
    state = journal.state
    journal.do(create_dek(state, "kek", dek()))
    journal.do(delete_dek(state, "kek", "orders-value"))
    journal.do(delete_kek(state, "kek"))
    with pytest.raises(RegistryError, match="Key 'kek' must be undeleted first"):
        undelete_dek(state, "kek", "orders-value")
