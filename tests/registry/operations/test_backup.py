"""Backups as lines of JSON, and findings of the check at start."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import CorruptData
from headrace.registry.backup import (
    Record,
    export_records,
    import_records,
    key_snapshot,
    snapshot,
)
from headrace.registry.deks import create_dek, create_kek, get_dek
from headrace.registry.entities import CreateDekRequest, CreateKekRequest, ModeUpdateRequest
from headrace.registry.modes import set_mode
from headrace.registry.state import RegistryState
from headrace.registry.verification import verify

from .journal import TEAM, Journal, contents_of, replayed


@settings(deadline=None)
@given(st.lists(st.builds(Record, st.binary(max_size=30), st.none() | st.binary(max_size=30))))
def test_any_records_come_back_byte_for_byte(records: list[Record]) -> None:
    """JSON stands in the line as it is, all else in base64."""
    lines = list(export_records(records))
    assert all("\n" not in line for line in lines)
    assert list(import_records(lines)) == records


def test_a_backup_can_be_read_by_people_and_restored() -> None:
    """Lines hold the JSON of key and value."""
    journal = Journal()
    journal.register("ä", '"int"')
    journal.register(":.c:user")
    journal.register(":.c:team", TEAM, references=[("User", "user", 1)])
    lines = list(export_records(snapshot(journal.state)))
    by_subject = {json.loads(line)["key"].get("subject"): json.loads(line) for line in lines}
    assert by_subject["ä"]["value"]["schema"] == '"int"'
    restored = replayed(list(import_records(line + "\n" for line in lines)))
    assert contents_of(restored) == contents_of(journal.state)


def test_encryption_keys_are_part_of_a_backup() -> None:
    """They have a topic of their own."""
    journal = Journal()
    journal.do(create_kek(journal.state, CreateKekRequest("k", "aws-kms", "arn")))
    journal.do(create_dek(journal.state, "k", CreateDekRequest("a", encrypted_key_material="e")))
    restored = RegistryState()
    for record in import_records(export_records(key_snapshot(journal.state))):
        restored.replay_key(record.key, record.value, offset=0, timestamp_ms=record.timestamp_ms)
    assert get_dek(restored, "k", "a") == get_dek(journal.state, "k", "a")


def test_what_the_console_consumer_prints_is_read() -> None:
    """Key, tab, value; a value of null deletes. Empty lines are nothing."""
    lines = ['{"keytype":"NOOP","magic":0}\tnull\n', "\n", '{"keytype":"CONTEXT"}\t{"a":1}\r\n']
    assert list(import_records(lines)) == [
        Record(b'{"keytype":"NOOP","magic":0}', None),
        Record(b'{"keytype":"CONTEXT"}', b'{"a":1}'),
    ]


@pytest.mark.parametrize(
    "line",
    ["nonsense", "[]", '{"value":1}', '{"key":null}', '{"key_base64":"?"}', "x\ty", "[" * 9_999],
)
def test_a_line_that_is_no_record_is_named(line: str) -> None:
    """The fault says which line, and what was expected."""
    with pytest.raises(CorruptData, match="line 2 of the backup is not a record"):
        list(import_records(['{"key":{},"value":null}', line]))


def test_a_sound_state_has_no_findings() -> None:
    """References that exist, ids with one meaning."""
    journal = Journal()
    journal.register("user")
    journal.register("team", TEAM, references=[("User", "user", 1)])
    assert verify(journal.state) == []


def test_dangling_references_and_ambiguous_ids_are_found() -> None:
    """An operator learns which subjects are concerned."""
    journal = Journal()
    journal.do(set_mode(journal.state, None, ModeUpdateRequest("IMPORT")))
    for number, text in ((1, "int"), (2, "long")):
        key = f'{{"keytype":"SCHEMA","subject":"s{number}","version":1,"magic":1}}'
        value = (
            f'{{"subject":"s{number}","version":1,"id":7,"references":[{{"name":"n",'
            f'"subject":"missing","version":3}}],"schema":"\\"{text}\\"","deleted":false}}'
        )
        journal.append(key.encode(), value.encode())
    findings = verify(journal.state)
    assert findings == [
        "subject 's1' version 1 refers to subject 'missing' version 3, which does not exist",
        "subject 's2' version 1 refers to subject 'missing' version 3, which does not exist",
        "id 7 of context . stands for different schemas: 's1' 1, 's2' 1",
    ]


def test_findings_are_bounded() -> None:
    """A topic of something else does not fill the log."""
    state = RegistryState()
    for offset in range(500):
        state.replay(b"nonsense", b"x", offset=offset, timestamp_ms=0)
    findings = verify(state)
    assert len(findings) == 101
    assert findings[-1] == "400 more records could not be understood"
