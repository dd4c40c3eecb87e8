"""Settings and modes: their scopes, and how they change."""

from __future__ import annotations

import msgspec
import pytest

from headrace.registry.configs import delete_config, get_config, set_config
from headrace.registry.contexts import delete_context
from headrace.registry.deletion import delete_subject
from headrace.registry.entities import (
    Config,
    ConfigUpdateRequest,
    Metadata,
    ModeReply,
    ModeUpdateRequest,
)
from headrace.registry.errors import RegistryError
from headrace.registry.lists import list_contexts, list_subjects
from headrace.registry.modes import delete_mode, get_mode, set_mode
from headrace.registry.state import Defaults

from .journal import USER_WITH_AGE, Journal, as_json


def update(text: str) -> ConfigUpdateRequest:
    return msgspec.json.decode(text, type=ConfigUpdateRequest)


@pytest.mark.spec("slides:G20", "slides:G21", "slides:G08")
def test_levels_are_set_and_read() -> None:
    """In any case of letters; the service's own default applies before."""
    journal = Journal(Defaults(compatibility_level="FORWARD"))
    assert as_json(get_config(journal.state)) == {"compatibilityLevel": "FORWARD"}
    reply = journal.do(set_config(journal.state, None, update('{"compatibility":"none"}')))
    assert as_json(reply) == {"compatibility": "NONE"}
    assert get_config(journal.state).compatibility_level == "NONE"


def test_settings_are_inherited_from_context_and_global() -> None:
    """The nearest scope counts; its level may still come from further away."""
    journal = Journal()
    state = journal.state
    journal.do(set_config(state, None, update('{"compatibility":"FULL"}')))
    journal.do(set_config(state, ":.c:", update('{"compatibility":"NONE","normalize":true}')))
    journal.do(set_config(state, ":.c:a", update('{"validateFields":true}')))

    def level(subject: str) -> str | None:
        return get_config(state, subject, default_to_global=True).compatibility_level

    assert (level("a"), level(":.c:a"), level(":.c:b"), level(":.d:a")) == (
        "FULL",
        "NONE",
        "NONE",
        "BACKWARD",
    )
    assert get_config(state, ":.c:a") == Config(validate_fields=True)
    assert get_config(state, ":.c:b", default_to_global=True).normalize is True


def test_the_global_context_is_inherited_by_all_others() -> None:
    """Subject, context, `.__GLOBAL`, service: the settings without a subject are one context's."""
    journal = Journal()
    state = journal.state
    journal.do(set_config(state, ":.__GLOBAL:", update('{"compatibility":"FULL"}')))
    journal.do(set_mode(state, ":.__GLOBAL:", ModeUpdateRequest("READONLY")))
    for subject in (None, "a", ":.c:", ":.c:a"):
        assert get_config(state, subject, default_to_global=True).compatibility_level == "FULL"
        assert get_mode(state, subject, default_to_global=True).mode == "READONLY"
    assert get_config(state).compatibility_level == "BACKWARD"
    assert get_mode(state).mode == "READWRITE"
    assert get_config(state, ":.__GLOBAL:").compatibility_level == "FULL"
    with pytest.raises(RegistryError) as refused:
        journal.register(":.c:a")
    assert refused.value.error_code == 42205
    journal.do(set_mode(state, None, ModeUpdateRequest("READWRITE")))
    journal.do(set_config(state, None, update('{"compatibility":"NONE"}')))
    assert journal.register("a").id == 1
    assert get_mode(state, ":.c:a", default_to_global=True).mode == "READONLY"
    assert get_config(state, "a", default_to_global=True).compatibility_level == "NONE"
    assert get_config(state, ":.c:a", default_to_global=True).compatibility_level == "FULL"
    assert list_contexts(state) == ["."]
    journal.do(delete_mode(state, ":.__GLOBAL:"))
    journal.do(delete_config(state, ":.__GLOBAL:"))
    assert get_config(state, ":.c:a", default_to_global=True).compatibility_level == "BACKWARD"


@pytest.mark.parametrize("subject", [":.__GLOBAL:a", ":.__GLOBAL:", "__EMPTY", ":.c:__GLOBAL"])
def test_names_that_no_subject_may_have(subject: str) -> None:
    """The global context has settings only, and two names are reserved in every context."""
    journal = Journal()
    with pytest.raises(RegistryError) as refused:
        journal.register(subject)
    assert refused.value.error_code == 42208


def test_the_global_context_cannot_be_deleted() -> None:
    """Its scope is everything, so its settings are deleted one by one."""
    journal = Journal()
    journal.do(set_config(journal.state, "a", update('{"compatibility":"FULL"}')))
    with pytest.raises(RegistryError) as refused:
        delete_context(journal.state, ".__GLOBAL")
    assert refused.value.error_code == 42208
    assert "a" in journal.state.configs


def test_import_for_all_needs_an_empty_registry() -> None:
    """The global context is that of every subject."""
    journal = Journal()
    journal.register(":.c:a")
    with pytest.raises(RegistryError, match=r"found existing subjects: :\.c:a"):
        set_mode(journal.state, ":.__GLOBAL:", ModeUpdateRequest("IMPORT"))


@pytest.mark.parametrize("name", [":.:", ":."])
def test_the_default_context_has_the_settings_of_all(name: str) -> None:
    """`:.:` is another name for the global settings and the global mode."""
    journal = Journal()
    journal.do(set_config(journal.state, name, update('{"compatibility":"FULL"}')))
    journal.do(set_mode(journal.state, name, ModeUpdateRequest("READONLY")))
    assert get_config(journal.state).compatibility_level == "FULL"
    assert get_mode(journal.state).mode == "READONLY"
    assert list(journal.state.configs) == [None]


def test_what_is_absent_stays_and_what_is_null_goes() -> None:
    """A change names what it changes."""
    journal = Journal()
    state = journal.state
    journal.do(set_config(state, "a", update('{"compatibility":"FULL","alias":"b"}')))
    metadata = ConfigUpdateRequest(default_metadata=Metadata(properties={"k": "v"}))
    journal.do(set_config(state, "a", metadata))
    reply = journal.do(set_config(state, "a", update('{"alias":null}')))
    assert as_json(reply) == {
        "compatibility": "FULL",
        "defaultMetadata": {"properties": {"k": "v"}},
    }


def test_settings_are_deleted() -> None:
    """The reply is what was; after that the scope above counts."""
    journal = Journal()
    state = journal.state
    journal.do(set_config(state, "a", update('{"compatibility":"FULL"}')))
    assert journal.do(delete_config(state, "a")) == Config(compatibility_level="FULL")
    assert get_config(state, "a", default_to_global=True).compatibility_level == "BACKWARD"
    journal.do(set_config(state, None, update('{"compatibility":"NONE"}')))
    assert journal.do(delete_config(state)).compatibility_level == "NONE"
    assert get_config(state).compatibility_level == "BACKWARD"


def test_settings_cannot_change_in_read_only_mode() -> None:
    """Neither set nor deleted."""
    journal = Journal()
    journal.do(set_mode(journal.state, None, ModeUpdateRequest("READONLY")))
    for attempt in (
        lambda: set_config(journal.state, None, update('{"compatibility":"NONE"}')),
        lambda: delete_config(journal.state, "a"),
    ):
        with pytest.raises(RegistryError, match="read-only") as refused:
            attempt()
        assert refused.value.error_code == 42205


def test_modes_are_inherited_from_context_and_global() -> None:
    """READONLY_OVERRIDE for all overrides the nearest."""
    journal = Journal()
    state = journal.state
    assert get_mode(state) == ModeReply("READWRITE")
    journal.do(set_mode(state, None, ModeUpdateRequest("readonly")))
    journal.do(set_mode(state, ":.c:", ModeUpdateRequest("FORWARD")))
    journal.do(set_mode(state, ":.c:a", ModeUpdateRequest("READWRITE")))

    def mode(subject: str) -> str | None:
        return get_mode(state, subject, default_to_global=True).mode

    assert (mode("a"), mode(":.c:a"), mode(":.c:b")) == ("READONLY", "READWRITE", "FORWARD")
    journal.do(set_mode(state, None, ModeUpdateRequest("READONLY_OVERRIDE")))
    assert mode(":.c:a") == "READONLY_OVERRIDE"


def test_a_mode_is_taken_away() -> None:
    """By deletion or by null; recursively with those of all subjects within."""
    journal = Journal()
    state = journal.state
    for scope in (":.c:", ":.c:a", ":.c:b", "a"):
        journal.do(set_mode(state, scope, ModeUpdateRequest("READONLY")))
    assert journal.do(delete_mode(state, ":.c:a")) == ModeReply("READONLY")
    assert journal.do(delete_mode(state, ":.c:", recursive=True)) == ModeReply("READONLY")
    assert list(state.modes) == ["a"]
    journal.do(set_mode(state, "a", ModeUpdateRequest(None)))
    assert state.modes == {}
    assert journal.do(delete_mode(state)) == ModeReply("READWRITE")


def test_import_needs_an_empty_scope_or_force() -> None:
    """What was deleted softly there is then forgotten, so that its numbers are free."""
    journal = Journal()
    state = journal.state
    journal.register("a")
    journal.register(":.c:a")
    with pytest.raises(RegistryError, match="found existing subjects: a;"):
        set_mode(state, "a", ModeUpdateRequest("IMPORT"))
    journal.do(set_mode(state, "b", ModeUpdateRequest("IMPORT")))
    journal.do(set_mode(state, "a", ModeUpdateRequest("IMPORT"), force=True))
    journal.do(delete_subject(state, ":.c:a"))
    journal.do(set_mode(state, ":.c:", ModeUpdateRequest("IMPORT")))
    assert list_subjects(state, deleted=True) == ["a"]
    assert journal.register(":.c:a", USER_WITH_AGE, id=7, version=1).version == 1


def test_an_empty_context_is_deleted_with_its_settings() -> None:
    """After its subjects are gone for good."""
    journal = Journal()
    state = journal.state
    journal.register(":.c:a")
    journal.do(set_config(state, ":.c:", update('{"compatibility":"NONE"}')))
    journal.do(set_mode(state, ":.c:", ModeUpdateRequest("READWRITE")))
    journal.do(delete_subject(state, ":.c:a"))
    with pytest.raises(RegistryError, match="not empty"):
        delete_context(state, ".c")
    journal.do(delete_subject(state, ":.c:a", permanent=True))
    journal.do(delete_context(state, ":.c:"))
    assert list_contexts(state) == ["."]
    assert state.configs == {}
    assert state.modes == {}
    assert delete_context(state, "c").writes == ()
