"""A state is made by its records alone: live, after a restart, and after compaction."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.registry import topic_records
from headrace.registry.associations import create_associations, delete_associations
from headrace.registry.backup import snapshot
from headrace.registry.configs import delete_config, get_config, set_config
from headrace.registry.contents import build_content
from headrace.registry.contexts import delete_context
from headrace.registry.decisions import Decision
from headrace.registry.deletion import delete_subject, delete_version
from headrace.registry.entities import (
    AssociationInfo,
    AssociationRequest,
    ConfigUpdateRequest,
    Metadata,
    ModeUpdateRequest,
    RegisterSchemaRequest,
    SchemaReference,
)
from headrace.registry.errors import RegistryError
from headrace.registry.lists import list_contexts, list_subjects
from headrace.registry.look_up import get_schema_by_id
from headrace.registry.modes import delete_mode, set_mode
from headrace.registry.register import register
from headrace.registry.state import RegistryState
from headrace.registry.verification import verify
from headrace.schemas.model import SchemaType
from tests.generated import examples

from .journal import (
    TEAM,
    USER,
    USER_WITH_AGE,
    USER_WITH_NAME,
    Journal,
    compacted,
    contents_of,
    replayed,
)

Operation = tuple[Any, ...]

SUBJECTS = ("a", "b", ":.c:a")
SCHEMAS = (USER, USER_WITH_NAME, USER_WITH_AGE, '"int"')

subjects = st.sampled_from(SUBJECTS)
scopes = st.sampled_from((None, ":.c:", *SUBJECTS))
numbers = st.integers(1, 4).map(str)
requests = st.builds(
    RegisterSchemaRequest,
    schema=st.sampled_from(SCHEMAS),
    metadata=st.sampled_from((None, None, Metadata(properties={"k": "v"}))),
)
imports = st.builds(
    RegisterSchemaRequest,
    schema=st.sampled_from(SCHEMAS),
    id=st.integers(1, 6),
    version=st.integers(1, 4),
)
teams = st.builds(
    lambda subject: RegisterSchemaRequest(
        schema=TEAM, references=[SchemaReference("User", subject, 1)]
    ),
    st.sampled_from(("a", "b")),
)
levels = st.sampled_from(("NONE", "BACKWARD", "FULL")).map(
    lambda level: ConfigUpdateRequest(compatibility=level)
)
modes = st.sampled_from(("READWRITE", "READWRITE", "READWRITE", "IMPORT", "READONLY")).map(
    ModeUpdateRequest
)


def _operation(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Operation]:
    return st.tuples(st.just(name), *arguments)


# What changes most stands there most often, else hardly a story gets anywhere.
WEIGHTED = [
    *[_operation("register", subjects, requests)] * 6,
    *[_operation("register", subjects, imports)] * 2,
    *[_operation("register", st.sampled_from(("t", ":.c:t")), teams)] * 2,
    *[_operation("delete_subject", subjects, st.booleans())] * 3,
    *[_operation("remove_subject", subjects)] * 3,
    *[_operation("delete_version", subjects, numbers, st.booleans())] * 3,
    *[_operation("set_config", scopes, levels)] * 2,
    _operation("delete_config", scopes),
    *[_operation("set_mode", scopes, modes, st.booleans())] * 3,
    _operation("delete_mode", scopes, st.booleans()),
    _operation("delete_context", st.just(".c")),
    _operation("associate", subjects, st.sampled_from(("STRONG", "WEAK"))),
    *[_operation("dissociate", subjects, st.booleans())] * 2,
]
operations = st.sampled_from(WEIGHTED).flatmap(lambda chosen: chosen)
stories = st.lists(operations, min_size=8, max_size=40)


def told(story: list[Operation], each: Callable[[Journal], None] = lambda _: None) -> Journal:
    """What is left of a registry that has something in it at first, and then a story."""
    journal = Journal()
    for subject in SUBJECTS:
        journal.register(subject, USER)
        journal.register(subject, USER_WITH_NAME)
    for name, *arguments in story:
        steps = [(name, *arguments)]
        if name == "remove_subject":
            steps = [("delete_subject", *arguments, gone) for gone in (False, True)]
        for step, *given_arguments in steps:
            with contextlib.suppress(RegistryError):
                journal.do(DECIDE[step](journal.state, *given_arguments))
        each(journal)
    return journal


def associate(state: RegistryState, subject: str, lifecycle: str) -> Decision[Any]:
    info = AssociationInfo(subject, "value", lifecycle)
    request = AssociationRequest(f"t{subject}", "ns", f"id{subject}", "topic", [info])
    return create_associations(state, request, update=True)


DECIDE: dict[str, Callable[..., Decision[Any]]] = {
    "register": register,
    "delete_subject": lambda state, name, gone: delete_subject(state, name, permanent=gone),
    "delete_version": lambda state, name, version, gone: delete_version(
        state, name, version, permanent=gone
    ),
    "set_config": set_config,
    "delete_config": delete_config,
    "set_mode": lambda state, scope, mode, force: set_mode(state, scope, mode, force=force),
    "delete_mode": lambda state, scope, all_of: delete_mode(state, scope, recursive=all_of),
    "delete_context": delete_context,
    "associate": associate,
    "dissociate": lambda state, name, cascade: delete_associations(
        state, f"id{name}", cascade_lifecycle=cascade
    ),
}


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories)
def test_a_state_is_what_its_records_say(story: list[Operation]) -> None:
    """Live, replayed, compacted and restored from a snapshot: whatever was done, all are equal."""
    journal = told(story)
    live = contents_of(journal.state)
    assert contents_of(replayed(journal.records)) == live
    assert contents_of(replayed(compacted(journal.records))) == live
    assert contents_of(replayed(list(snapshot(journal.state)))) == live
    assert journal.state.findings == []


def test_the_highest_id_outlives_the_version_that_had_it() -> None:
    """An import replaces the version with the highest id; after compaction it is known as used."""
    journal = Journal()
    journal.do(set_mode(journal.state, None, ModeUpdateRequest("IMPORT"), force=True))
    for schema, schema_id in ((USER, 3), (USER_WITH_NAME, 1)):
        request = RegisterSchemaRequest(schema=schema, id=schema_id, version=1)
        journal.do(register(journal.state, "a", request))
    assert journal.state.versions.max_id(".") == 3
    assert replayed(compacted(journal.records)).versions.max_id(".") == 3


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories)
def test_ids_stand_for_one_schema_for_ever(story: list[Operation]) -> None:
    """Whatever is done, an id that the registry gave out never gets another content."""
    meaning: dict[tuple[str, int], bytes] = {}

    def check(journal: Journal) -> None:
        for context, index in journal.state.versions.contexts.items():
            for schema_id, versions in index.by_id.items():
                for version in versions:
                    key = version.content.key
                    assert meaning.setdefault((context, schema_id), key) == key

    # An import may give an id again whose schema is gone for good.
    told([each for each in story if each[0] != "register" or each[2].id is None], check)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_any_bytes_are_survived(key: bytes, value: bytes | None) -> None:
    """A record that is none is counted, and the others are read all the same."""
    state = RegistryState()
    state.replay(key, value, offset=0, timestamp_ms=0)
    state.replay_key(key, value, offset=0, timestamp_ms=0)
    assert state.broken_records in (1, 2)
    assert list_subjects(state) == []


BROKEN = [
    (b'{"keytype":"SCHEMA","magic":1}', b'{"subject":"a","version":1,"id":1,"schema":"x"}'),
    (
        b'{"keytype":"SCHEMA","subject":"a","version":0,"magic":1}',
        b'{"subject":"a","version":0,"id":1,"schema":"x"}',
    ),
    (
        b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}',
        b'{"subject":"a","version":1,"id":99999999999,"schema":"x"}',
    ),
    (
        b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}',
        b'{"subject":"a","version":1,"id":1,"schemaType":"XML","schema":"x"}',
    ),
    (
        b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}',
        b'{"subject":"a","version":1,"id":1,"md5":"?","schema":"x"}',
    ),
    (
        b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}',
        b'{"subject":"a","version":1,"id":1,"md5":"AAAA","schema":"x"}',
    ),
    (b'{"keytype":"MODE","subject":"a","magic":0}', b'{"subject":"a"}'),
    (b'{"keytype":"NEWS","magic":0}', b"{}"),
    (b'{"keytype":"ASSOC","magic":0}', b'{"guid":"g"}'),
]


@pytest.mark.parametrize(("key", "value"), BROKEN)
def test_broken_records_are_reported(key: bytes, value: bytes) -> None:
    """Each with its offset; the registry starts all the same."""
    state = RegistryState()
    state.replay(key, value, offset=41, timestamp_ms=0)
    assert state.broken_records == 1
    assert verify(state)[0].startswith("record at offset 41: ")
    assert list_subjects(state, deleted=True) == []


def test_a_topic_of_confluent_is_taken_over() -> None:
    """Records as a registry of Confluent leaves them, old and new ones mixed."""
    records = [
        (b'{"keytype":"NOOP","magic":0}', None),
        (
            b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}',
            b'{"subject":"a","version":1,"id":1,"schema":"\\"string\\"","deleted":false}',
        ),
        (
            b'{"keytype":"SCHEMA","subject":"b","version":1,"magic":0}',
            b'{"subject":"b","version":1,"id":2,"schema":"\\"int\\""}',
        ),
        (b'{"keytype":"CONFIG","subject":null,"magic":0}', b'{"compatibilityLevel":"NONE"}'),
        (b'{"keytype":"CONFIG","subject":"b","magic":0}', b'{"compatibilityLevel":"FULL"}'),
        (b'{"keytype":"MODE","subject":null,"magic":0}', b'{"mode":"READWRITE"}'),
        (
            b'{"keytype":"DELETE_SUBJECT","subject":"b","magic":0}',
            b'{"subject":"b","version":1}',
        ),
        (
            b'{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}',
            b'{"tenant":"default","context":".c"}',
        ),
    ]
    state = RegistryState()
    for offset, (key, value) in enumerate(records):
        state.replay(key, value, offset=offset, timestamp_ms=5)
    assert list_subjects(state) == ["a"]
    assert list_subjects(state, deleted_only=True) == ["b"]
    assert get_config(state, "b").compatibility_level == "FULL"
    assert get_schema_by_id(state, 1).schema == '"string"'
    assert list_contexts(state) == [".", ".c"]
    assert state.offset == 7
    (finding,) = verify(state)
    assert finding.startswith("1 keys were written in another order")


def test_a_stored_md5_is_believed_and_kept() -> None:
    """A registry that encrypts sensitive metadata writes the digest of the plain schema."""
    journal = Journal()
    md5 = base64.b64encode(bytes(range(16))).decode()
    value = f'{{"subject":"a","version":1,"id":1,"md5":"{md5}","schema":"\\"int\\""}}'
    journal.append(b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', value.encode())
    guid = get_schema_by_id(journal.state, 1).guid
    assert guid == str(UUID(bytes=bytes(range(16))))
    journal.do(delete_version(journal.state, "a", "1"))
    assert f'"md5":"{md5}"'.encode() in (journal.records[-1].value or b"")


def test_many_versions_load_fast_and_share_what_is_equal() -> None:
    """Five thousand subjects with one schema: one object for its text, and time to spare."""
    state = RegistryState()
    for number in range(5_000):
        content = build_content(SchemaType.AVRO, USER, None, None, None)
        value = topic_records.schema_value(f"s{number}", 1, 1, content, deleted=False)
        key = topic_records.schema_key(f"s{number}", 1)
        state.replay(key, value, offset=number, timestamp_ms=0)
    versions = state.versions.by_id(".", 1)
    assert len(versions) == 5_000
    assert len({id(each.content) for each in versions}) == 1
