"""Levels, directions, groups and policies of compatibility."""

from __future__ import annotations

import pytest

from headrace.registry.compatibility import Level, check_compatibility
from headrace.registry.configs import set_config
from headrace.registry.deletion import delete_version
from headrace.registry.entities import ConfigUpdateRequest, Metadata, RegisterSchemaRequest
from headrace.registry.errors import RegistryError

from .journal import USER, USER_WITH_AGE, USER_WITH_NAME, Journal


def level(journal: Journal, name: str, **more: str | bool) -> None:
    """Set the level of subject `a`."""
    request = ConfigUpdateRequest(compatibility=name, **more)  # type: ignore[arg-type]
    journal.do(set_config(journal.state, "a", request))


def fits(journal: Journal, schema: str, version: str | None = "latest") -> bool:
    request = RegisterSchemaRequest(schema=schema)
    return check_compatibility(journal.state, "a", version, request).is_compatible


NO_FIELDS = '{"type":"record","name":"User","fields":[]}'


@pytest.mark.spec("slides:G08", "slides:G10", "slides:G11", "slides:G19", "admin:SR-02")
@pytest.mark.parametrize(
    ("name", "adds_default", "adds_bare", "removes"),
    [
        ("NONE", True, True, True),
        ("BACKWARD", True, False, True),
        ("FORWARD", True, True, False),
        ("FULL", True, False, False),
    ],
)
def test_levels_look_in_their_direction(
    name: str, adds_default: bool, adds_bare: bool, removes: bool
) -> None:
    """An added field breaks new readers, a removed one old readers, unless it has a default."""
    journal = Journal()
    journal.register("a")
    for each in (name, name if name == "NONE" else f"{name}_TRANSITIVE"):
        level(journal, each)
        assert fits(journal, USER_WITH_NAME) is adds_default
        assert fits(journal, USER_WITH_AGE) is adds_bare
        assert fits(journal, NO_FIELDS) is removes


@pytest.mark.spec("slides:G09")
def test_transitive_levels_look_at_all_versions() -> None:
    """The others at the latest only."""
    journal = Journal()
    level(journal, "NONE")
    journal.register("a", NO_FIELDS)
    journal.register("a", USER_WITH_AGE)
    level(journal, "BACKWARD")
    assert fits(journal, USER, None)
    level(journal, "BACKWARD_TRANSITIVE")
    request = RegisterSchemaRequest(schema=USER)
    verdict = check_compatibility(journal.state, "a", None, request, verbose=True)
    assert not verdict.is_compatible
    assert verdict.problems is not None
    assert {each.version for each in verdict.problems} == {1}
    assert verdict.messages is not None
    assert "{oldSchemaVersion: 1}" in verdict.messages
    journal.do(delete_version(journal.state, "a", "1"))
    assert fits(journal, USER, None)


def test_one_version_can_be_chosen() -> None:
    """Whatever the latest is."""
    journal = Journal()
    level(journal, "NONE")
    journal.register("a", USER_WITH_AGE)
    journal.register("a", NO_FIELDS)
    level(journal, "BACKWARD")
    assert fits(journal, USER_WITH_AGE, "1")
    assert not fits(journal, USER_WITH_AGE, "2")


def test_a_subject_that_does_not_exist_fits_everything() -> None:
    """There is nothing to break."""
    assert fits(Journal(), USER)
    assert fits(Journal(), USER, None)


def test_messages_come_on_request() -> None:
    """`verbose` says why not, in Confluent's words and in parts."""
    journal = Journal()
    journal.register("a")
    request = RegisterSchemaRequest(schema=USER_WITH_AGE)
    terse = check_compatibility(journal.state, "a", "latest", request)
    assert (terse.messages, terse.problems) == (None, None)
    verbose = check_compatibility(journal.state, "a", "latest", request, verbose=True)
    assert verbose.messages is not None
    assert verbose.messages[-1] == "{validateFields: 'false', compatibility: 'BACKWARD'}"


def test_forward_messages_name_old_and_new_the_other_way_round() -> None:
    """The old schema is the reader then."""
    journal = Journal()
    journal.register("a", USER_WITH_AGE)
    level(journal, "FORWARD")
    request = RegisterSchemaRequest(schema=USER)
    verdict = check_compatibility(journal.state, "a", "latest", request, verbose=True)
    assert verdict.messages is not None
    assert "and the old one has no default for it" in verdict.messages[0]
    assert verdict.problems is not None
    assert verdict.problems[0].before is not None


def test_groups_are_compared_among_themselves() -> None:
    """A property of the metadata says which group a version is of."""
    journal = Journal()
    level(journal, "BACKWARD", compatibility_group="major")
    journal.register("a", USER, metadata=Metadata(properties={"major": "1"}))
    with pytest.raises(RegistryError, match="incompatible"):
        journal.register("a", USER_WITH_AGE, metadata=Metadata(properties={"major": "1"}))
    journal.register("a", USER_WITH_AGE, metadata=Metadata(properties={"major": "2"}))


def test_lenient_is_more_forgiving_with_json_schema() -> None:
    """An open model lets a property be added only if the policy is lenient."""
    journal = Journal()
    old, new = '{"type":"object"}', '{"type":"object","properties":{"a":{"type":"string"}}}'
    journal.register("a", old, kind="JSON")
    request = RegisterSchemaRequest(schema=new, schema_type="JSON")

    def fits_json() -> bool:
        return check_compatibility(journal.state, "a", "latest", request).is_compatible

    level(journal, "BACKWARD")
    assert not fits_json()
    level(journal, "BACKWARD", compatibility_policy="lenient")
    assert fits_json()


def test_another_format_never_fits() -> None:
    """Nobody reads Avro with a JSON Schema."""
    journal = Journal()
    journal.register("a")
    with pytest.raises(RegistryError, match="different schema type"):
        journal.register("a", '{"type":"object"}', kind="JSON")


def test_reserved_fields_stay_reserved() -> None:
    """With `validateFields` a reserved name is no field, and remains reserved."""
    journal = Journal()
    level(journal, "NONE", validate_fields=True)
    reserved = Metadata(properties={"confluent:reserved": "name, age"})
    journal.register("a", USER, metadata=reserved)
    with pytest.raises(RegistryError, match="conflicts with the reserved field name"):
        journal.register("a", USER_WITH_NAME, metadata=reserved)
    with pytest.raises(RegistryError, match="reserved field age removed from its metadata"):
        journal.register("a", NO_FIELDS, metadata=Metadata(properties={"x": "y"}))


def test_names_that_clients_keep_are_refused() -> None:
    """With `validateFields` no field begins with two dollars."""
    journal = Journal()
    text = '{"type":"object","properties":{"$$x":{}}}'
    journal.register("b", text, kind="JSON")
    level(journal, "NONE", validate_fields=True)
    with pytest.raises(RegistryError, match=r"\$\$x") as refused:
        journal.register("a", text, kind="JSON")
    assert refused.value.error_code == 42201


@pytest.mark.parametrize("name", [each.value for each in Level])
def test_every_level_can_be_stored(name: str) -> None:
    """And read back by a state that replays it."""
    journal = Journal()
    level(journal, name.lower())
    assert journal.state.configs["a"].compatibility_level == name


def test_an_earlier_version_that_is_no_schema_is_named() -> None:
    """An import may have brought it; the message says which one it is."""
    journal = Journal()
    journal.append(
        b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}',
        b'{"subject":"a","version":1,"id":1,"schema":"nonsense","deleted":false}',
    )
    with pytest.raises(RegistryError, match="The earlier version 1 of subject 'a'") as refused:
        journal.register("a")
    assert refused.value.error_code == 42201
