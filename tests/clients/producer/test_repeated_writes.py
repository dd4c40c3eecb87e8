"""A produce like the last one is answered as if it were the first of its connection."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from headrace.records.batch import HEADER_SIZE, read_header, seal
from headrace.records.compression import Codec
from headrace.wire.header import encode_request
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.messages.produce import ProduceRequest, ProduceResponse
from tests.clients.raw import Connection, ConnectionClosed, batch_of
from tests.clients.records import CODECS, numbered_records
from tests.clients.requests import (
    create_topic,
    delete_topic,
    fetch_request,
    fetched,
    produce_request,
    produced_bytes,
    topic_id_of,
)

VERSIONS = [3, 7, 9, 12]


def changed(**fields: Any) -> memoryview:
    """A batch whose header says something else, with a CRC that agrees."""
    batch = batch_of(numbered_records(2))
    return memoryview(seal(read_header(batch)._replace(**fields), bytes(batch[HEADER_SIZE:])))


def damaged() -> memoryview:
    batch = bytearray(batch_of(numbered_records(2)))
    batch[-1] ^= 1
    return memoryview(batch)


BATCHES: dict[str, memoryview | None] = {
    "good": batch_of(numbered_records(3)),
    "damaged": damaged(),
    "cut": batch_of(numbered_records(2))[:-5],
    "two": memoryview(bytes(batch_of(numbered_records(1))) * 2),
    "short": memoryview(b"\0" * 20),
    "empty": memoryview(b""),
    "none": None,
    "too many records": changed(last_offset_delta=7),
    "from the future": changed(max_timestamp=1 << 60),
    "of a transaction": changed(attributes=1 << 4),
    "a marker": changed(attributes=1 << 5),
    "stamped by a broker": changed(attributes=1 << 3),
    "an unknown codec": changed(attributes=7),
    "an old format": changed(magic=1),
    "not at the beginning": changed(base_offset=5),
    **{codec: batch_of(numbered_records(9), compression=Codec[codec.upper()]) for codec in CODECS},
}


def told(response: ProduceResponse) -> list[Any]:
    return [
        (topic.name, topic.topic_id, answer)
        for topic in response.responses
        for answer in topic.partition_responses
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", BATCHES)
def test_what_comes_after_a_known_request_is_judged_alike(
    bootstrap: str, new_topic: Callable[..., str], name: str, version: int
) -> None:
    """The same answer as on a connection that has sent nothing before."""
    topic = new_topic(partitions=2)
    answers = []
    for earlier, partition in ((0, 0), (2, 1)):
        with Connection(bootstrap) as connection:
            for _ in range(2):  # both partitions have as many records
                with Connection(bootstrap) as other:
                    chosen = connection if earlier else other
                    good = batch_of(numbered_records(4))
                    produced_bytes(chosen, topic, good, partition=partition, version=version)
            request = produce_request(topic, BATCHES[name], partition=partition)
            ((_, _, answer),) = told(connection.ask(request, version))
            answer.index = 0
            # It may name the partition, or say by how much a clock is ahead.
            answer.error_message = re.sub(r"\d+", "n", answer.error_message or "")
            answers.append(answer)
    assert answers[0] == answers[1]
    assert answers[0].error_code or answers[0].base_offset == 8


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame[:-1] + b"\1",
        lambda frame: frame + b"\0",
        lambda frame: frame[:-1],
        lambda frame: frame[: len(frame) // 2],
    ],
)
def test_a_frame_that_lies_is_no_repetition(
    bootstrap: str, topic: str, version: int, change: Callable[[bytes], bytes]
) -> None:
    """Whatever stands behind the known bytes is judged as on a new connection."""
    batch = batch_of(numbered_records(1))
    outcomes = []
    for earlier in (0, 3):
        with Connection(bootstrap) as connection:
            for _ in range(earlier):
                produced_bytes(connection, topic, batch, version=version)
            whole = b"".join(encode_request(9, "raw", version, produce_request(topic, batch)))[4:]
            frame = change(whole)
            connection.send_bytes(len(frame).to_bytes(4) + frame)
            try:
                response = connection.answer(9, ProduceRequest, version)
                outcomes.append([answer.error_code for _, _, answer in told(response)])
            except ConnectionClosed:
                outcomes.append(["closed"])
    assert outcomes[0] == outcomes[1]


def test_a_new_topic_of_the_same_name_gets_the_records(
    connection: Connection, bootstrap: str, topic: str
) -> None:
    """By its name; by the id of the old topic nothing can be written any more."""
    batch = batch_of(numbered_records(2))
    old_id = topic_id_of(connection, topic)
    by_id = produce_request("", batch, topic_id=old_id)
    for _ in range(2):
        assert produced_bytes(connection, topic, batch).error_code == Error.NONE
    with Connection(bootstrap) as other:
        _written_by_id(connection, other, topic, by_id, batch)
    new_id = topic_id_of(connection, topic)
    (answer,) = told(connection.ask(produce_request("", batch, topic_id=new_id), 13))
    assert answer[:2] == ("", new_id)
    assert (answer[2].error_code, answer[2].base_offset) == (Error.NONE, 2)
    assert uuid.UUID(int=0) not in (old_id, new_id)


def _written_by_id(
    connection: Connection, other: Connection, topic: str, by_id: ProduceRequest, batch: memoryview
) -> None:
    """`other` knows only the request with the old topic's id."""
    for _ in range(2):
        assert told(other.ask(by_id, 13))[0][2].error_code == Error.NONE
    delete_topic(connection, topic)
    gone = produced_bytes(connection, topic, batch)
    assert gone.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    create_topic(connection, topic)
    assert produced_bytes(connection, topic, batch).base_offset == 0
    assert told(other.ask(by_id, 13))[0][2].error_code == Error.UNKNOWN_TOPIC_ID


def test_partitions_and_acknowledgements_in_turns(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """Requests that differ in one field each go where they say."""
    topic = new_topic(partitions=3)
    for turn in range(6):
        for partition in range(3):
            for acks in (1, -1):
                batch = batch_of(numbered_records(partition + 1))
                result = produced_bytes(connection, topic, batch, partition=partition, acks=acks)
                assert result.index == partition
                expected = (2 * turn + (acks == -1)) * (partition + 1)
                assert (result.error_code, result.base_offset) == (Error.NONE, expected)


def test_a_known_request_waits_for_an_earlier_answer(connection: Connection, topic: str) -> None:
    """It is appended at once, and answered behind the fetch that it wakes."""
    batch = batch_of(numbered_records(1))
    for _ in range(3):
        produced_bytes(connection, topic, batch)
    request = fetch_request(topic, 3, max_wait_ms=15_000)
    waiting = connection.send(request, 12)
    written = connection.send(produce_request(topic, batch), 9)
    (partition,) = connection.answer(waiting, FetchRequest, 12).responses[0].partitions
    assert partition.records
    (answer,) = told(connection.answer(written, ProduceRequest, 9))
    assert answer[2].base_offset == 3


def test_what_is_stored_is_what_was_sent(connection: Connection, topic: str) -> None:
    """Byte for byte, but for the place in the log."""
    sent = [bytes(batch_of(numbered_records(count))) for count in (1, 2, 200)]
    for batch in sent:
        produced_bytes(connection, topic, memoryview(batch))
    stored = bytes(fetched(connection, topic, 0).records)
    for batch in sent:
        assert stored[16 : len(batch)] == batch[16:]
        stored = stored[len(batch) :]
    assert not stored
