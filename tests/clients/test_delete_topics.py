"""DeleteTopics: by name, by id, and what is left of a topic afterwards."""

from __future__ import annotations

import uuid
from typing import Any
from uuid import UUID

import pytest

from headrace.errors import Error
from headrace.types import ZERO_UUID
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.clients.contract import eventually
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import (
    LATEST,
    TIMEOUT_MS,
    create_topic,
    delete_topic,
    fetched,
    metadata_request,
    offset_at,
    produced,
    produced_bytes,
    topic_id_of,
)


def deleted(
    connection: Connection, version: int, *, name: str | None = None, topic_id: UUID = ZERO_UUID
) -> Any:
    if version >= 6:
        states = [DeleteTopicState(name=name, topic_id=topic_id)]
        request = DeleteTopicsRequest(topics=states, timeout_ms=TIMEOUT_MS)
    else:
        assert name is not None
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS)
    (result,) = connection.ask(request, version).responses
    return result


def gone(connection: Connection, topic: str) -> bool:
    (found,) = connection.ask(metadata_request(topic), 12).topics
    return bool(found.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("version", range(1, 7))
def test_every_version_deletes_by_name(connection: Connection, topic: str, version: int) -> None:
    """The topic leaves metadata; nothing can be written, read or asked of it any more."""
    produced(connection, topic, numbered_records(3))
    result = deleted(connection, version, name=topic)
    assert (result.error_code, result.name) == (Error.NONE, topic)
    eventually(lambda: gone(connection, topic), "the end of the topic")
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert produced_bytes(connection, topic, batch_of(numbered_records(1))).error_code == unknown
    assert fetched(connection, topic, 0).error_code == unknown
    assert offset_at(connection, topic, LATEST).error_code == unknown


def test_an_id_is_enough(connection: Connection, topic: str) -> None:
    """KIP-516: v6 deletes by id, and the answer has both id and name."""
    topic_id = topic_id_of(connection, topic)
    result = deleted(connection, 6, topic_id=topic_id)
    assert (result.error_code, result.name, result.topic_id) == (Error.NONE, topic, topic_id)
    eventually(lambda: gone(connection, topic), "the end of the topic")


@pytest.mark.parametrize("version", range(1, 7))
def test_an_unknown_name_is_refused(connection: Connection, topic_name: str, version: int) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION with the name that was given."""
    result = deleted(connection, version, name=topic_name)
    assert (result.error_code, result.name) == (Error.UNKNOWN_TOPIC_OR_PARTITION, topic_name)


def test_an_unknown_id_is_refused(connection: Connection) -> None:
    """UNKNOWN_TOPIC_ID with the id that was given."""
    unknown = uuid.uuid4()
    result = deleted(connection, 6, topic_id=unknown)
    assert (result.error_code, result.topic_id) == (Error.UNKNOWN_TOPIC_ID, unknown)


def test_a_name_can_be_used_again(connection: Connection, topic: str) -> None:
    """The new topic is empty, begins at offset 0 and has an id of its own."""
    produced(connection, topic, numbered_records(3))
    old_id = topic_id_of(connection, topic)
    delete_topic(connection, topic)
    create_topic(connection, topic)
    assert topic_id_of(connection, topic) != old_id
    assert produced(connection, topic, numbered_records(1)).base_offset == 0


def test_several_topics_at_once(connection: Connection, topic: str, topic_name: str) -> None:
    """One unknown topic does not save the others."""
    names = [topic, topic_name]
    request = DeleteTopicsRequest(topic_names=names, timeout_ms=TIMEOUT_MS)
    results = connection.ask(request, 5).responses
    codes = {result.name: result.error_code for result in results}
    assert codes == {topic: Error.NONE, topic_name: Error.UNKNOWN_TOPIC_OR_PARTITION}
