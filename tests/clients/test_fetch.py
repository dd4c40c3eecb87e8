"""Fetch: which bytes come back, how long a broker waits for them, and fetch sessions."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from headrace.types import ZERO_UUID
from headrace.wire.messages.fetch import FetchRequest, ForgottenTopic
from tests.clients.raw import Connection, batch_headers, batch_of
from tests.clients.records import Record, incompressible, numbered_records
from tests.clients.requests import (
    create_topic,
    delete_topic,
    fetch_request,
    fetched,
    produced,
    produced_bytes,
    topic_id_of,
)

FULL_EPOCH = 0
SESSIONLESS_EPOCH = -1


def elapsed_seconds(began: float) -> float:
    return time.monotonic() - began


@pytest.mark.spec("admin:LS-06")
@pytest.mark.parametrize("version", range(4, 13))
def test_every_version_by_name(connection: Connection, topic: str, version: int) -> None:
    """Batches come back in order with the high watermark and the log start offset."""
    for _ in range(3):
        produced(connection, topic, numbered_records(2))
    result = fetched(connection, topic, 0, version=version)
    assert result.error_code == Error.NONE
    assert (result.high_watermark, result.last_stable_offset) == (6, 6)
    assert version < 5 or result.log_start_offset == 0
    assert [header.base_offset for header in batch_headers(result.records)] == [0, 2, 4]


@pytest.mark.parametrize("version", range(13, 19))
def test_every_version_by_id(connection: Connection, topic: str, version: int) -> None:
    """KIP-516: from v13 on topics are named by id alone."""
    produced(connection, topic, numbered_records(2))
    topic_id = topic_id_of(connection, topic)
    response = connection.ask(fetch_request("", 0, topic_id=topic_id), version)
    (found,) = response.responses
    assert found.topic_id == topic_id
    assert [header.base_offset for header in batch_headers(found.partitions[0].records)] == [0]


@pytest.mark.parametrize("version", [4, 9, 10])
def test_a_zstd_topic_needs_version_10(
    connection: Connection, new_topic: Callable[..., str], version: int
) -> None:
    """KIP-110: an older client cannot read what the topic's own codec makes of the records."""
    topic = new_topic(config={"compression.type": "zstd"})
    produced(connection, topic, numbered_records(2))
    result = fetched(connection, topic, 0, version=version)
    expected = Error.NONE if version >= 10 else Error.UNSUPPORTED_COMPRESSION_TYPE
    assert result.error_code == expected


def test_the_middle_of_a_batch_returns_the_whole_batch(connection: Connection, topic: str) -> None:
    """Batches are never cut open: the client drops the head it did not ask for."""
    produced(connection, topic, numbered_records(10))
    produced(connection, topic, numbered_records(10))
    headers = batch_headers(fetched(connection, topic, 14).records)
    assert [(header.base_offset, header.record_count) for header in headers] == [(10, 10)]


def test_the_end_returns_nothing_and_no_error(connection: Connection, topic: str) -> None:
    """The next offset to be written is a place to wait at, not a mistake."""
    produced(connection, topic, numbered_records(3))
    result = fetched(connection, topic, 3)
    assert (result.error_code, result.high_watermark) == (Error.NONE, 3)
    assert batch_headers(result.records) == []


@pytest.mark.parametrize("offset", [-1, 4, 1 << 62])
def test_an_offset_that_does_not_exist_is_out_of_range(
    connection: Connection, topic: str, offset: int
) -> None:
    """Before the start and beyond the end: OFFSET_OUT_OF_RANGE, at once."""
    produced(connection, topic, numbered_records(3))
    began = time.monotonic()
    result = fetched(connection, topic, offset, max_wait_ms=10_000, min_bytes=1)
    assert result.error_code == Error.OFFSET_OUT_OF_RANGE
    assert elapsed_seconds(began) < 5


@pytest.mark.parametrize("partition", [1, 99])
def test_an_unknown_partition_is_refused(
    connection: Connection, topic: str, partition: int
) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION, without waiting for data that cannot come."""
    began = time.monotonic()
    result = fetched(connection, topic, 0, partition=partition, max_wait_ms=10_000)
    assert (result.error_code, result.high_watermark) == (Error.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert elapsed_seconds(began) < 5


def test_an_unknown_topic_is_refused(connection: Connection, topic_name: str) -> None:
    """A name that no topic has is UNKNOWN_TOPIC_OR_PARTITION."""
    assert fetched(connection, topic_name, 0).error_code == Error.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [13, 16])
def test_an_unknown_topic_id_is_refused(connection: Connection, version: int) -> None:
    """An id that no topic has is UNKNOWN_TOPIC_ID; the client then asks for metadata."""
    response = connection.ask(fetch_request("", 0, topic_id=uuid.uuid4()), version)
    assert response.responses[0].partitions[0].error_code == Error.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("epochs_ahead", "error"), [(0, Error.NONE), (1, Error.UNKNOWN_LEADER_EPOCH)]
)
def test_a_leader_epoch_from_the_future_is_refused(
    connection: Connection, topic: str, epochs_ahead: int, error: Error
) -> None:
    """KIP-320: a client that knows a newer leader than the broker must not read here."""
    produced(connection, topic, numbered_records(1))
    (header,) = batch_headers(fetched(connection, topic, 0).records)
    epoch = header.partition_leader_epoch + epochs_ahead
    assert fetched(connection, topic, 0, current_leader_epoch=epoch).error_code == error


@pytest.mark.spec("book1:B-31")
def test_a_partitions_share_is_limited(connection: Connection, topic: str) -> None:
    """partition_max_bytes is kept to; what comes are the first bytes of the log from there on."""
    for _ in range(10):
        produced(connection, topic, numbered_records(10))
    everything = bytes(fetched(connection, topic, 0).records)
    size = batch_headers(memoryview(everything))[0].size
    limited = fetched(connection, topic, 0, partition_max_bytes=3 * size + size // 2)
    assert len(limited.records) <= 3 * size + size // 2
    assert bytes(limited.records) == everything[: len(limited.records)]
    assert len(batch_headers(limited.records)) == 3


@pytest.mark.parametrize("limit", ["partition_max_bytes", "max_bytes"])
def test_a_batch_above_the_limit_still_comes(
    connection: Connection, topic: str, limit: str
) -> None:
    """KIP-74: the first batch is returned whole, or a consumer could never get past it."""
    produced(connection, topic, [Record(b"", incompressible(50_000), 0)])
    produced(connection, topic, numbered_records(1))
    result = fetched(connection, topic, 0, **{limit: 1_000})
    (header,) = batch_headers(result.records)
    assert header.base_offset == 0


def test_the_whole_answer_is_limited(connection: Connection, new_topic: Callable[..., str]) -> None:
    """max_bytes counts over all partitions; later ones come away empty and are asked again."""
    topic = new_topic(partitions=3)
    batch = batch_of([Record(b"", incompressible(10_000), 0)])
    request = fetch_request(topic, 0, max_bytes=25_000)
    for partition in range(3):
        produced_bytes(connection, topic, batch, partition=partition)
        if partition > 0:
            more = fetch_request(topic, 0, partition=partition)
            request.topics[0].partitions += more.topics[0].partitions
    (answer,) = connection.ask(request, 12).responses
    whole = [len(batch_headers(each.records)) for each in answer.partitions]
    assert whole == [1, 1, 0]
    assert sum(len(each.records or b"") for each in answer.partitions) <= 25_000


@pytest.mark.spec("slides:A55", "book1:B-30", "admin:RQ-08")
def test_a_fetch_without_data_waits_as_long_as_it_may(connection: Connection, topic: str) -> None:
    """max_wait_ms is how long the broker holds the request, no less and not much more."""
    began = time.monotonic()
    result = fetched(connection, topic, 0, max_wait_ms=400, min_bytes=1)
    assert 0.35 < elapsed_seconds(began) < 3
    assert (result.error_code, batch_headers(result.records)) == (Error.NONE, [])


@pytest.mark.spec("book1:B-30", "admin:RQ-08")
def test_a_fetch_waits_for_enough_bytes(connection: Connection, topic: str) -> None:
    """Less than min_bytes is held back until the time is over, then handed out all the same."""
    produced(connection, topic, numbered_records(1))
    began = time.monotonic()
    result = fetched(connection, topic, 0, max_wait_ms=400, min_bytes=100_000)
    assert elapsed_seconds(began) > 0.35
    assert len(batch_headers(result.records)) == 1


@pytest.mark.parametrize(("max_wait_ms", "min_bytes"), [(0, 1), (10_000, 0), (10_000, 1)])
def test_a_fetch_that_need_not_wait_does_not(
    connection: Connection, topic: str, max_wait_ms: int, min_bytes: int
) -> None:
    """Enough bytes, none wanted or no time given: the answer comes at once."""
    produced(connection, topic, numbered_records(1))
    began = time.monotonic()
    fetched(connection, topic, 0, max_wait_ms=max_wait_ms, min_bytes=min_bytes)
    assert elapsed_seconds(began) < 5


@pytest.mark.spec("slides:A55", "admin:RQ-08")
def test_a_waiting_fetch_wakes_up_when_records_arrive(
    bootstrap: str, connection: Connection, topic: str
) -> None:
    """An append answers the fetches that wait for it, long before their time is over."""
    request = fetch_request(topic, 0, max_wait_ms=15_000, min_bytes=1)
    correlation_id = connection.send(request, 12)
    began = time.monotonic()
    with Connection(bootstrap) as producer:
        produced(producer, topic, numbered_records(1))
    response = connection.answer(correlation_id, FetchRequest, 12)
    assert elapsed_seconds(began) < 10
    assert len(batch_headers(response.responses[0].partitions[0].records)) == 1


def test_a_waiting_fetch_wakes_up_only_for_enough(
    bootstrap: str, connection: Connection, topic: str
) -> None:
    """Three appends of which only the third makes min_bytes full are answered together."""
    batch = batch_of(numbered_records(1, value_bytes=1_000))
    correlation_id = connection.send(
        fetch_request(topic, 0, max_wait_ms=15_000, min_bytes=2 * len(batch) + 1), 12
    )
    with Connection(bootstrap) as producer:
        for _ in range(3):
            produced_bytes(producer, topic, batch)
    response = connection.answer(correlation_id, FetchRequest, 12)
    assert len(batch_headers(response.responses[0].partitions[0].records)) == 3


def test_a_waiting_fetch_survives_the_end_of_its_connection(bootstrap: str, topic: str) -> None:
    """A client that goes away while the broker holds its fetch harms nobody."""
    with Connection(bootstrap) as gone:
        gone.send(fetch_request(topic, 0, max_wait_ms=300, min_bytes=1), 12)
    with Connection(bootstrap) as another:
        produced(another, topic, numbered_records(1))
        assert len(batch_headers(fetched(another, topic, 0).records)) == 1


@pytest.mark.spec("book1:F-04")
def test_a_held_fetch_holds_back_later_answers_only(connection: Connection, topic: str) -> None:
    """Two pipelined fetches are answered in order, although only the second has data."""
    produced(connection, topic, numbered_records(1))
    waits = connection.send(fetch_request(topic, 1, max_wait_ms=300, min_bytes=1), 12)
    ready = connection.send(fetch_request(topic, 0), 12)
    first = connection.answer(waits, FetchRequest, 12)
    second = connection.answer(ready, FetchRequest, 12)
    assert batch_headers(first.responses[0].partitions[0].records) == []
    assert len(batch_headers(second.responses[0].partitions[0].records)) == 1


def test_many_readers_read_the_same_bytes(bootstrap: str, topic: str) -> None:
    """One offset has one value for all readers."""
    with Connection(bootstrap) as producer:
        for _ in range(20):
            produced(producer, topic, numbered_records(10))
    seen: list[bytes] = []

    def read() -> None:
        with Connection(bootstrap) as reader:
            seen.append(bytes(fetched(reader, topic, 0).records))

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)
    assert len(seen) == 8
    assert len(set(seen)) == 1


class Session:
    """A fetch session (KIP-227) by hand."""

    def __init__(self, connection: Connection, topics: list[str], *, version: int = 12) -> None:
        self._connection = connection
        self._version = version
        self._ids = {topic: topic_id_of(connection, topic) for topic in topics}
        self._names = {topic_id: topic for topic, topic_id in self._ids.items()}
        self.session_id = 0
        self.epoch = FULL_EPOCH

    def fetch(self, offsets: dict[str, int], *, forget: tuple[str, ...] = ()) -> Any:
        """Ask for what changed; the partitions' parts of the answer by topic."""
        request = fetch_request("", 0, session_id=self.session_id, session_epoch=self.epoch)
        request.topics = [
            fetch_request(topic, offset, topic_id=self._ids[topic]).topics[0]
            for topic, offset in offsets.items()
        ]
        request.forgotten_topics_data = [
            ForgottenTopic(topic=topic, topic_id=self._ids[topic], partitions=[0])
            for topic in forget
        ]
        response = self._connection.ask(request, self._version)
        assert response.error_code == Error.NONE, Error(response.error_code).name
        self.session_id = response.session_id
        self.epoch += 1
        return {
            each.topic or self._names[each.topic_id]: each.partitions[0]
            for each in response.responses
        }


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_a_session_tells_only_what_changed(
    connection: Connection, new_topic: Callable[..., str], version: int
) -> None:
    """KIP-227: the first fetch tells everything, later ones the partitions with news."""
    quiet, busy = new_topic(), new_topic()
    session = Session(connection, [quiet, busy], version=version)
    assert set(session.fetch({quiet: 0, busy: 0})) == {quiet, busy}
    assert session.session_id > 0
    assert session.fetch({}) == {}
    produced(connection, busy, numbered_records(3))
    changed = session.fetch({})
    assert set(changed) == {busy}
    assert changed[busy].high_watermark == 3
    assert len(batch_headers(changed[busy].records)) == 1
    assert session.fetch({busy: 3}) == {}


def test_a_session_can_be_widened_and_narrowed(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """Partitions are added by naming them and removed as forgotten topics."""
    first, second = new_topic(), new_topic()
    session = Session(connection, [first, second])
    session.fetch({first: 0})
    assert set(session.fetch({second: 0})) == {second}
    for topic in (first, second):
        produced(connection, topic, numbered_records(1))
    assert set(session.fetch({}, forget=(first,))) == {second}
    assert set(session.fetch({second: 0})) == {second}


def test_a_session_goes_on_where_the_client_says(connection: Connection, topic: str) -> None:
    """A new offset for a known partition replaces the old one; unread data is told again."""
    produced(connection, topic, numbered_records(2))
    session = Session(connection, [topic])
    assert len(batch_headers(session.fetch({topic: 0})[topic].records)) == 1
    assert len(batch_headers(session.fetch({})[topic].records)) == 1
    assert session.fetch({topic: 2}) == {}


def test_an_unknown_session_is_refused(connection: Connection, topic: str) -> None:
    """FETCH_SESSION_ID_NOT_FOUND makes the client begin again with a full fetch."""
    request = fetch_request(topic, 0, session_id=123_456_789, session_epoch=5)
    response = connection.ask(request, 12)
    assert response.error_code == Error.FETCH_SESSION_ID_NOT_FOUND
    assert response.responses == []


def test_a_wrong_session_epoch_is_refused(connection: Connection, topic: str) -> None:
    """Each incremental fetch counts one up; anything else was lost or repeated on the way."""
    session = Session(connection, [topic])
    session.fetch({topic: 0})
    request = fetch_request(topic, 0, session_id=session.session_id, session_epoch=7)
    response = connection.ask(request, 12)
    assert response.error_code == Error.INVALID_FETCH_SESSION_EPOCH


def test_a_session_ends_when_its_client_says_so(connection: Connection, topic: str) -> None:
    """Epoch -1 with a session id closes the session and still returns data."""
    produced(connection, topic, numbered_records(1))
    session = Session(connection, [topic])
    session.fetch({topic: 0})
    close = fetch_request(topic, 0, session_id=session.session_id, session_epoch=SESSIONLESS_EPOCH)
    response = connection.ask(close, 12)
    assert (response.error_code, response.session_id) == (Error.NONE, 0)
    assert len(batch_headers(response.responses[0].partitions[0].records)) == 1
    after = fetch_request(topic, 0, session_id=session.session_id, session_epoch=session.epoch)
    assert connection.ask(after, 12).error_code == Error.FETCH_SESSION_ID_NOT_FOUND


def test_without_a_session_there_is_no_session(connection: Connection, topic: str) -> None:
    """Epoch -1 without an id neither makes a session nor needs one."""
    response = connection.ask(fetch_request(topic, 0, session_epoch=SESSIONLESS_EPOCH), 12)
    assert (response.error_code, response.session_id) == (Error.NONE, 0)


def test_a_session_by_name_cannot_go_on_by_id(connection: Connection, topic: str) -> None:
    """A session stays in the version range that it began in (KIP-516)."""
    session = Session(connection, [topic], version=12)
    session.fetch({topic: 0})
    request = fetch_request("", 0, session_id=session.session_id, session_epoch=session.epoch)
    request.topics = []
    assert connection.ask(request, 13).error_code == Error.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_recreated_topic_is_another_topic(connection: Connection, topic: str) -> None:
    """An id outlives its topic as an error, even when the name is taken again."""
    produced(connection, topic, numbered_records(5))
    old_id = topic_id_of(connection, topic)
    delete_topic(connection, topic)
    create_topic(connection, topic)
    assert topic_id_of(connection, topic) not in (old_id, ZERO_UUID)
    response = connection.ask(fetch_request("", 0, topic_id=old_id), 13)
    assert response.responses[0].partitions[0].error_code == Error.UNKNOWN_TOPIC_ID
    assert fetched(connection, topic, 0).high_watermark == 0


def test_a_session_notices_that_its_topic_was_recreated(connection: Connection, topic: str) -> None:
    """The session's id no longer is the topic's: an error on the partition, never other data."""
    produced(connection, topic, numbered_records(5))
    session = Session(connection, [topic], version=13)
    session.fetch({topic: 0})
    delete_topic(connection, topic)
    create_topic(connection, topic)
    produced(connection, topic, numbered_records(1))
    found = session.fetch({})[topic]
    assert found.error_code in (Error.UNKNOWN_TOPIC_ID, Error.INCONSISTENT_TOPIC_ID)
    assert batch_headers(found.records) == []
