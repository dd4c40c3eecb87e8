"""Registration: ids, versions, and what is refused."""

from __future__ import annotations

import pytest

from headrace.registry.configs import set_config
from headrace.registry.deletion import delete_subject, delete_version
from headrace.registry.entities import (
    ConfigUpdateRequest,
    Metadata,
    ModeUpdateRequest,
    RegisterSchemaRequest,
    Rule,
    RuleSet,
    SchemaEntity,
    SchemaTags,
    TagSchemaRequest,
)
from headrace.registry.errors import RegistryError
from headrace.registry.lists import list_contexts, list_versions
from headrace.registry.look_up import get_schema_by_id, get_version, look_up
from headrace.registry.modes import set_mode
from headrace.registry.register import modify_tags, register

from .journal import TEAM, USER, USER_WITH_AGE, USER_WITH_NAME, Journal

MESSAGE = 'syntax = "proto3";\nmessage M {\n  int32 id = 1;\n}\n'


@pytest.mark.spec("slides:G01", "slides:G12")
def test_the_first_schema_gets_id_and_version_one() -> None:
    """The reply is the schema as it is stored, without its time."""
    journal = Journal()
    reply = journal.register("a")
    assert (reply.id, reply.version, reply.schema_type, reply.schema) == (1, 1, "AVRO", USER)
    assert get_version(journal.state, "a", "1").schema == USER
    assert (reply.ts, reply.deleted) == (None, None)
    assert reply.guid is not None


def test_a_serialized_descriptor_is_not_answered_with_a_text() -> None:
    """A client that sent one would keep the text in place of the form that it expects."""
    journal = Journal()
    journal.register("a", MESSAGE, kind="PROTOBUF")
    serialized = get_version(journal.state, "a", "1", format="serialized").schema
    reply = journal.register("b", serialized, kind="PROTOBUF")
    assert (reply.id, reply.schema_type, reply.schema) == (1, "PROTOBUF", None)
    assert journal.register("c", MESSAGE, kind="PROTOBUF").schema is not None


@pytest.mark.spec("admin:SR-05")
def test_the_same_schema_is_registered_once() -> None:
    """Again under the same subject nothing is written; under another it keeps its id."""
    journal = Journal()
    first = journal.register("a")
    written = len(journal.records)
    assert journal.register("a") == first
    assert len(journal.records) == written
    other = journal.register("b")
    assert (other.id, other.version) == (1, 1)


def test_spelling_that_means_nothing_makes_no_new_version() -> None:
    """White space is not part of a schema."""
    journal = Journal()
    journal.register("a")
    spaced = USER.replace(",", " ,\n ")
    assert journal.register("a", spaced).version == 1


def test_normalize_makes_one_of_what_means_the_same() -> None:
    """By parameter, or by the settings of the scope."""
    journal = Journal()
    plain, reordered = '{"type":"object","title":"T"}', '{"title":"T","type":"object"}'
    journal.register("a", plain, kind="JSON", normalize=True)
    assert journal.register("a", reordered, kind="JSON", normalize=True).version == 1
    journal.do(set_config(journal.state, "b", ConfigUpdateRequest(normalize=True)))
    journal.register("b", plain, kind="JSON")
    assert journal.register("b", reordered, kind="JSON").version == 1
    journal.register("c", plain, kind="JSON")
    assert journal.register("c", reordered, kind="JSON").version == 2


def test_a_new_schema_gets_the_next_id_and_version() -> None:
    """Ids count for the context, versions for the subject."""
    journal = Journal()
    journal.register("a")
    second = journal.register("a", USER_WITH_NAME)
    assert (second.id, second.version) == (2, 2)
    assert journal.register("b", '"string"').id == 3


@pytest.mark.spec("slides:G02")
def test_formats_do_not_share_ids() -> None:
    """A text can be a schema in two formats; they are two schemas."""
    journal = Journal()
    ids = [
        journal.register("a", '{"type":"string"}').id,
        journal.register("b", '{"type":"string"}', kind="JSON").id,
        journal.register("c", MESSAGE, kind="PROTOBUF").id,
    ]
    assert len(set(ids)) == 3
    stored = [get_version(journal.state, subject, "1") for subject in "abc"]
    assert [each.schema_type for each in stored] == ["AVRO", "JSON", "PROTOBUF"]


def test_a_deleted_version_comes_back_as_a_new_one_with_its_id() -> None:
    """The old number is not used again, and goes for good."""
    journal = Journal()
    journal.register("a")
    journal.register("a", USER_WITH_NAME)
    journal.do(delete_version(journal.state, "a", "1"))
    back = journal.register("a")
    assert (back.id, back.version) == (1, 3)
    assert list_versions(journal.state, "a", deleted=True) == [2, 3]


def test_versions_go_on_after_a_deleted_subject() -> None:
    """A subject that was deleted softly remembers how far it counted."""
    journal = Journal()
    journal.register("a")
    journal.do(delete_subject(journal.state, "a"))
    assert journal.register("a", USER_WITH_AGE).version == 2


def test_ids_are_never_used_again() -> None:
    """Not even after the highest one was deleted for good and the topic was compacted."""
    from .journal import compacted, replayed

    journal = Journal()
    journal.register("a")
    journal.register("b", '"string"')
    journal.do(delete_subject(journal.state, "b"))
    journal.do(delete_subject(journal.state, "b", permanent=True))
    assert replayed(compacted(journal.records)).versions.max_id(".") == 2
    assert journal.register("c", '"long"').id == 3


@pytest.mark.spec("slides:G08", "slides:G09", "slides:G22", "slides:G33")
def test_an_incompatible_schema_is_refused_with_reasons() -> None:
    """The message is Confluent's; the parts are for programs: rule, path, version, new text."""
    journal = Journal()
    journal.register("a")
    with pytest.raises(RegistryError) as refused:
        journal.register("a", USER_WITH_AGE)
    error = refused.value
    assert (error.http_status, error.error_code) == (409, 409)
    assert error.message.startswith(
        "Schema being registered is incompatible with an earlier schema for subject "
        "\"a\", details: [{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE',"
    )
    assert error.message.endswith(
        "{oldSchemaVersion: 1}, {oldSchema: '" + USER + "'}, "
        "{validateFields: 'false', compatibility: 'BACKWARD'}]"
    )
    problem = error.problems[0]
    assert problem.rule == "READER_FIELD_MISSING_DEFAULT_VALUE"
    assert problem.path == "/fields/1"
    assert problem.version == 1
    assert problem.after is not None
    assert "age" in problem.after


def test_an_empty_schema_repeats_the_previous_one() -> None:
    """With new metadata alone, a new version has the old text."""
    journal = Journal()
    journal.register("a")
    again = journal.register("a", None, metadata=Metadata(properties={"owner": "me"}))
    assert (again.version, again.schema) == (2, USER)
    assert again.metadata == Metadata(properties={"owner": "me"})


def test_metadata_and_rules_are_inherited_from_the_previous_version() -> None:
    """Who sends none gets those of the version before."""
    journal = Journal()
    rules = RuleSet(domain_rules=[Rule(name="r", kind="CONDITION", mode="WRITE", type="CEL")])
    metadata = Metadata(properties={"owner": "me"})
    journal.register("a", metadata=metadata, rule_set=rules)
    second = journal.register("a", USER_WITH_NAME)
    assert (second.metadata, second.rule_set) == (metadata, rules)
    found = look_up(journal.state, "a", RegisterSchemaRequest(schema=USER_WITH_NAME))
    assert found.version == 2


def test_metadata_makes_another_schema() -> None:
    """The same text with other metadata is another version with another id."""
    journal = Journal()
    first = journal.register("a")
    second = journal.register("a", metadata=Metadata(properties={"owner": "me"}))
    assert (second.id, second.version) == (first.id + 1, 2)
    assert second.guid != first.guid


def test_defaults_and_overrides_of_the_scope_are_merged_in() -> None:
    """Default under what the client sends, override above; rules go by their names."""

    def rule(name: str, expr: str) -> Rule:
        return Rule(name=name, kind="CONDITION", mode="WRITE", type="CEL", expr=expr)

    journal = Journal()
    config = ConfigUpdateRequest(
        default_metadata=Metadata(properties={"a": "default", "b": "default"}, tags={"x": ["1"]}),
        override_metadata=Metadata(properties={"c": "override"}, sensitive=["c"]),
        default_rule_set=RuleSet(domain_rules=[rule("one", "default"), rule("two", "default")]),
        override_rule_set=RuleSet(domain_rules=[rule("three", "override")]),
    )
    journal.do(set_config(journal.state, None, config))
    reply = journal.register(
        "a",
        metadata=Metadata(properties={"b": "mine", "c": "mine"}),
        rule_set=RuleSet(domain_rules=[rule("two", "mine"), rule("three", "mine")]),
    )
    assert reply.metadata == Metadata(
        tags={"x": ["1"]},
        properties={"a": "default", "b": "mine", "c": "override"},
        sensitive=["c"],
    )
    assert reply.rule_set is not None
    assert [(each.name, each.expr) for each in reply.rule_set.domain_rules or ()] == [
        ("one", "default"),
        ("two", "mine"),
        ("three", "override"),
    ]
    assert journal.register("a").version == 1


def test_a_version_can_be_demanded() -> None:
    """It must be the next one, and is written down in the metadata."""
    journal = Journal()
    journal.register("a")
    with pytest.raises(RegistryError, match="not one more than previous"):
        journal.register("a", USER_WITH_NAME, version=3)
    second = journal.register("a", USER_WITH_NAME, version=2)
    assert second.version == 2
    assert second.metadata == Metadata(properties={"confluent:version": "2"})
    found = look_up(journal.state, "a", RegisterSchemaRequest(schema=USER_WITH_NAME))
    assert found.version == 2


def test_the_latest_version_is_recognised_by_version_minus_one() -> None:
    """-1 asks for the schema as the newest version: an older like it does not count."""
    journal = Journal()
    journal.do(set_config(journal.state, None, ConfigUpdateRequest(compatibility="NONE")))
    journal.register("a")
    journal.register("a", USER_WITH_NAME)
    assert journal.register("a", USER_WITH_NAME, version=-1).version == 2
    third = journal.register("a", USER, version=-1)
    assert third.version == 3


@pytest.mark.spec("slides:G35")
def test_references_are_found_in_the_context_of_the_one_who_refers() -> None:
    """A schema can use what another subject defines."""
    journal = Journal()
    journal.register(":.c:user")
    journal.register(":.c:team", TEAM, references=[("User", "user", 1)])
    assert get_version(journal.state, ":.c:team", "1").references is not None
    with pytest.raises(RegistryError, match="No schema reference found"):
        journal.register("team", TEAM, references=[("User", "user", 1)])
    assert journal.register("team", TEAM, references=[("User", ":.c:user", 1)]).version == 1


def test_a_schema_with_its_references_written_out_is_recognised() -> None:
    """Serialisers send the whole schema; it is the one that was registered with references."""
    journal = Journal()
    journal.register("user")
    team = journal.register("team", TEAM, references=[("User", "user", 1)])
    whole = TEAM.replace('"User"', USER)
    assert look_up(journal.state, "team", RegisterSchemaRequest(schema=whole)).id == team.id
    assert journal.register("team", whole).id == team.id


def test_contexts_count_their_own_ids() -> None:
    """A context exists with its first subject."""
    journal = Journal()
    journal.register("a")
    journal.register("b", '"string"')
    other = journal.register(":.c:b", '"string"')
    assert other.id == 1
    assert list_contexts(journal.state) == [".", ".c"]
    assert get_schema_by_id(journal.state, 1, subject=":.c:").schema == '"string"'
    assert journal.register(":.:a").version == 1


def test_import_takes_ids_and_versions_as_they_are_given() -> None:
    """Nothing is checked, gaps may stay, and the next id comes after the highest."""
    journal = Journal()
    journal.do(set_mode(journal.state, "a", ModeUpdateRequest("IMPORT")))
    journal.register("a", USER, id=100, version=4)
    journal.register("a", USER_WITH_AGE, id=50, version=2)
    assert list_versions(journal.state, "a") == [2, 4]
    assert get_version(journal.state, "a", "4").id == 100
    journal.do(set_mode(journal.state, "a", ModeUpdateRequest("READWRITE")))
    assert journal.register("b", '"string"').id == 101


def test_in_read_only_mode_what_exists_is_still_answered() -> None:
    """Producers that register what is there already go on."""
    journal = Journal()
    journal.register("a")
    journal.do(set_mode(journal.state, None, ModeUpdateRequest("READONLY")))
    assert journal.register("a").id == 1
    with pytest.raises(RegistryError, match="is in read-only mode") as refused:
        journal.register("a", USER_WITH_NAME)
    assert refused.value.error_code == 42205


def test_subjects_may_have_any_character() -> None:
    """Slashes, colons, spaces and letters of any script are part of names."""
    journal = Journal()
    for subject in ("a/b", "ä ö", "x:y", "名前", ":x", "", "%2F", "{}"):
        journal.register(subject)
        assert get_version(journal.state, subject, "latest").subject == subject


def test_an_alias_stands_for_its_subject() -> None:
    """Reading and registering under an alias concern the other subject."""
    journal = Journal()
    journal.register("real")
    journal.do(set_config(journal.state, "alias", ConfigUpdateRequest(alias="real")))
    assert get_version(journal.state, "alias", "latest").subject == "real"
    assert journal.register("alias", USER_WITH_NAME).version == 2
    assert list_versions(journal.state, "real") == [1, 2]


def test_tags_are_added_to_and_removed_from_fields() -> None:
    """Each change is a new version that carries its number."""
    journal = Journal()
    journal.register("a")
    pii = SchemaTags(SchemaEntity("User.id", "sr_field"), ["PII"])
    tagged = journal.do(modify_tags(journal.state, "a", "1", TagSchemaRequest(tags_to_add=[pii])))
    assert tagged.version == 2
    assert '{"name":"id","type":"int","confluent:tags":["PII"]}' in (tagged.schema or "")
    shown = get_version(journal.state, "a", "2", find_tags=["*"])
    assert shown.schema_tags == [pii]
    carried = RegisterSchemaRequest(schema=USER_WITH_NAME, propagate_schema_tags=True)
    assert '"PII"' in (journal.do(register(journal.state, "a", carried)).schema or "")
    bare = journal.do(
        modify_tags(journal.state, "a", "latest", TagSchemaRequest(tags_to_remove=[pii]))
    )
    assert "PII" not in (bare.schema or "")


def test_tags_of_what_is_not_there_are_refused() -> None:
    """The message names the place."""
    journal = Journal()
    journal.register("a")
    nowhere = SchemaTags(SchemaEntity("User.x", "sr_field"), ["PII"])
    with pytest.raises(RegistryError, match=r"no sr_field at 'User.x'"):
        modify_tags(journal.state, "a", "1", TagSchemaRequest(tags_to_add=[nowhere]))


def test_rules_are_merged_and_removed_by_name() -> None:
    """`rulesToMerge` and `rulesToRemove` start from the rules that are there."""

    def rule(name: str) -> Rule:
        return Rule(name=name, kind="CONDITION", mode="WRITE", type="CEL")

    journal = Journal()
    journal.register("a", rule_set=RuleSet(domain_rules=[rule("one"), rule("two")]))
    request = TagSchemaRequest(
        rules_to_merge=RuleSet(domain_rules=[rule("three")]), rules_to_remove=["one"]
    )
    changed = journal.do(modify_tags(journal.state, "a", "latest", request))
    assert changed.rule_set is not None
    assert [each.name for each in changed.rule_set.domain_rules or ()] == ["two", "three"]


def test_an_other_form_of_the_schema_can_be_asked_for() -> None:
    """`format=resolved` has the references written out."""
    journal = Journal()
    journal.register("user")
    journal.register("team", TEAM, references=[("User", "user", 1)])
    assert get_version(journal.state, "team", "1", format="resolved").schema == TEAM.replace(
        '"User"', USER
    )


def test_tags_of_nonsense_are_refused() -> None:
    """However deep it is, nothing breaks."""
    journal = Journal()
    pii = SchemaTags(SchemaEntity("x", "sr_field"), ["PII"])
    deep = '{"items":' * 600 + "{}" + "}" * 600
    for text in ("{", "[" * 100_000, deep):
        request = RegisterSchemaRequest(schema=text, schema_tags_to_add=[pii])
        with pytest.raises(RegistryError) as refused:
            register(journal.state, "a", request)
        assert refused.value.error_code == 42201


def test_a_reference_to_the_latest_version_is_pinned() -> None:
    """It names the number that was the latest, which is then protected from deletion."""
    journal = Journal()
    journal.register("user")
    team = journal.register("team", TEAM, references=[("User", "user", -1)])
    assert [each.version for each in team.references or ()] == [1]
    with pytest.raises(RegistryError, match="One or more references"):
        delete_subject(journal.state, "user")
    assert journal.register("team", TEAM, references=[("User", "user", -1)]).version == 1
