"""Deletion in two steps, and what stands in its way."""

from __future__ import annotations

import pytest

from headrace.registry.configs import get_config, set_config
from headrace.registry.deletion import delete_subject, delete_version
from headrace.registry.entities import (
    ConfigUpdateRequest,
    ModeUpdateRequest,
    RegisterSchemaRequest,
)
from headrace.registry.errors import RegistryError
from headrace.registry.lists import list_subjects, list_versions
from headrace.registry.look_up import get_schema_by_id, get_version, look_up
from headrace.registry.modes import get_mode, set_mode

from .journal import TEAM, USER, USER_WITH_NAME, Journal, compacted, replayed


def with_two_versions() -> Journal:
    journal = Journal()
    journal.register("a")
    journal.register("a", USER_WITH_NAME)
    return journal


def test_a_soft_deleted_subject_is_seen_on_request_only() -> None:
    """By id it stays readable: consumers still have its data."""
    journal = with_two_versions()
    assert journal.do(delete_subject(journal.state, "a")) == [1, 2]
    assert list_subjects(journal.state) == []
    assert list_subjects(journal.state, deleted=True) == ["a"]
    assert list_versions(journal.state, "a", deleted_only=True) == [1, 2]
    assert get_version(journal.state, "a", "1", deleted=True).deleted is True
    request = RegisterSchemaRequest(schema=USER)
    assert look_up(journal.state, "a", request, deleted=True).version == 1
    assert get_schema_by_id(journal.state, 1).deleted is True
    with pytest.raises(RegistryError, match="not found"):
        get_version(journal.state, "a", "latest")


def test_a_subject_that_is_deleted_for_good_is_gone() -> None:
    """Its versions, its ids, its settings and its mode."""
    journal = with_two_versions()
    journal.do(set_config(journal.state, "a", ConfigUpdateRequest(compatibility="FULL")))
    journal.do(set_mode(journal.state, "a", ModeUpdateRequest("READWRITE")))
    journal.do(delete_subject(journal.state, "a"))
    assert journal.do(delete_subject(journal.state, "a", permanent=True)) == [1, 2]
    assert list_subjects(journal.state, deleted=True) == []
    assert journal.state.encoded_schema(1) is None
    for reading in (get_config, get_mode):
        with pytest.raises(RegistryError, match="does not have subject-level"):
            reading(journal.state, "a")


def test_one_version_is_deleted_softly_then_for_good() -> None:
    """`latest` is then the one before; the last version takes the settings along."""
    journal = with_two_versions()
    journal.do(set_config(journal.state, "a", ConfigUpdateRequest(compatibility="FULL")))
    assert journal.do(delete_version(journal.state, "a", "latest")) == 2
    assert get_version(journal.state, "a", "latest").version == 1
    assert journal.do(delete_version(journal.state, "a", "2", permanent=True)) == 2
    assert list_versions(journal.state, "a", deleted=True) == [1]
    journal.do(delete_version(journal.state, "a", "1"))
    journal.do(delete_version(journal.state, "a", "1", permanent=True))
    assert journal.state.configs == {}


def test_what_is_referred_to_stays() -> None:
    """Until whoever refers to it is deleted, softly is enough."""
    journal = Journal()
    journal.register("user")
    journal.register("team", TEAM, references=[("User", "user", 1)])
    for attempt in (delete_subject, lambda state, name: delete_version(state, name, "1")):
        with pytest.raises(RegistryError, match="subject 'team' version 1"):
            attempt(journal.state, "user")
    journal.do(delete_subject(journal.state, "team"))
    assert journal.do(delete_subject(journal.state, "user")) == [1]


def test_nothing_is_deleted_in_read_only_mode() -> None:
    """42205, and the message says where."""
    journal = with_two_versions()
    journal.do(set_mode(journal.state, "a", ModeUpdateRequest("READONLY")))
    for attempt in (delete_subject, lambda state, name: delete_version(state, name, "1")):
        with pytest.raises(RegistryError, match=r"Subject a in context \. is in read-only mode"):
            attempt(journal.state, "a")


def test_a_second_deletion_does_not_bring_back_the_first() -> None:
    """Compaction keeps the last deletion of a subject only: it must cover the earlier ones."""
    journal = Journal()
    journal.do(set_mode(journal.state, "a", ModeUpdateRequest("IMPORT")))
    for number, text in enumerate((USER, USER_WITH_NAME, '"int"'), 1):
        journal.register("a", text, id=number, version=number)
    journal.do(delete_subject(journal.state, "a"))
    journal.register("a", USER, id=1, version=1)
    assert list_versions(journal.state, "a") == [1]
    journal.do(delete_subject(journal.state, "a"))
    assert list_subjects(replayed(compacted(journal.records))) == []


def test_a_key_in_another_order_is_deleted_before_ours_is_written() -> None:
    """Else compaction would keep the other record, and bring back what was deleted."""
    journal = Journal()
    other = b'{"magic":1,"keytype":"SCHEMA","subject":"a","version":1}'
    value = b'{"subject":"a","version":1,"id":1,"schema":"\\"int\\"","deleted":false}'
    journal.append(other, value)
    journal.do(delete_version(journal.state, "a", "1"))
    journal.do(delete_version(journal.state, "a", "1", permanent=True))
    after = replayed(compacted(journal.records))
    assert list_subjects(after, deleted=True) == []
    assert after.other_spellings == {}


def test_a_schema_that_was_deleted_for_good_gets_a_new_id() -> None:
    """Its old id is gone: consumers that know it are not told something else."""
    journal = Journal()
    journal.register("a")
    journal.do(delete_subject(journal.state, "a"))
    journal.do(delete_subject(journal.state, "a", permanent=True))
    back = journal.register("a")
    assert (back.id, back.version) == (2, 1)


def test_clearing_spares_what_is_not_deleted() -> None:
    """The record that another registry writes before an import concerns deleted versions only."""
    journal = with_two_versions()
    journal.do(delete_version(journal.state, "a", "1"))
    journal.append(b'{"keytype":"CLEAR_SUBJECT","subject":"a","magic":0}', b'{"subject":"a"}')
    assert list_versions(journal.state, "a", deleted=True) == [2]
