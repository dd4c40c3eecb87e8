"""Who uses more than its quota is told how long to wait, and not listened to until then."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from itertools import count

import pytest

from headrace.errors import Error
from headrace.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.wire.messages.metadata import MetadataRequest
from tests.clients.configs import Op
from tests.clients.contract import eventually
from tests.clients.quotas.requests import limited_to, timed
from tests.clients.raw import Connection, ConnectionClosed, batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record
from tests.clients.requests import fetch_request, produce_request
from tests.clients.share.raw_queue import RELEASE, Queue, RawMember, acquired

PRODUCE, FETCH, METADATA = 12, 12, 12
Client = Callable[..., Connection]

NOTHING = MetadataRequest(topics=[])


def batch(size: int) -> memoryview:
    return batch_of([Record(b"", bytes(size), FIRST_TIMESTAMP_MS)])


def name_of(client: Connection) -> str:
    name = client._client_id
    assert name is not None
    return name


@pytest.mark.spec("slides:M08", "slides:C14")
def test_a_producer_over_its_quota_waits(
    connection: Connection, client: Client, topic: str
) -> None:
    """The answer is there at once and says how long; the next request is served after that."""
    slow, other = client(), client()
    with limited_to(connection, {"client-id": name_of(slow)}, producer_byte_rate=10_000):
        request = produce_request(topic, batch(30_000))
        answer, took_ms = timed(lambda: slow.ask(request, PRODUCE))
        began = time.monotonic()
        # 30 KB and a little where 10 KB are allowed in the first second.
        assert 1_950 < answer.throttle_time_ms < 2_500
        assert took_ms < 1_900
        assert answer.responses[0].partition_responses[0].error_code == Error.NONE
        _, took_ms = timed(lambda: other.ask(NOTHING, METADATA))
        assert took_ms < 1_900
        answer_of_other = other.ask(produce_request(topic, batch(50_000)), PRODUCE)
        assert answer_of_other.throttle_time_ms == 0
        slow.ask(NOTHING, METADATA)
        waited_ms = (time.monotonic() - began) * 1000
        assert waited_ms > answer.throttle_time_ms - 300


def test_requests_that_had_arrived_wait_too(
    connection: Connection, client: Client, topic: str
) -> None:
    """Pipelined requests are served one after the other's time, in their order; acks=0 as well."""
    slow = client()
    with limited_to(connection, {"client-id": name_of(slow)}, producer_byte_rate=20_000):
        began = time.monotonic()
        slow.send(produce_request(topic, batch(30_000), acks=0), PRODUCE)
        for each in [slow.send(NOTHING, METADATA) for _ in range(3)]:
            slow.answer(each, MetadataRequest, METADATA)
        assert time.monotonic() - began > 0.35


@pytest.mark.spec("slides:M10")
def test_a_consumer_over_its_quota_gets_nothing_and_waits(
    connection: Connection, client: Client, topic: str
) -> None:
    """An answer without records says how long; after that the records come."""
    for _ in range(4):
        connection.ask(produce_request(topic, batch(9_000)), PRODUCE)
    slow = client()
    with limited_to(connection, {"client-id": name_of(slow)}, consumer_byte_rate=10_000):
        offset, empty, began = 0, 0, time.monotonic()
        while offset < 3:
            answer = slow.ask(fetch_request(topic, offset), FETCH)
            if answer.throttle_time_ms:
                assert answer.responses == []
                empty += 1
            else:
                # One batch at a time: more would be over the quota.
                assert 9_000 < len(answer.responses[0].partitions[0].records) < 10_000
                offset += 1
        assert empty > 0
        assert time.monotonic() - began > 1.5


def test_a_member_of_a_share_group_over_its_quota_locks_nothing(
    connection: Connection, client: Client, topic: str
) -> None:
    """What it is not given stays free for the others, and is given to it when it has waited."""
    for _ in range(2):
        connection.ask(produce_request(topic, batch(9_000)), PRODUCE)
    queue = Queue(connection, topic, f"{topic}-workers")
    slow, other = RawMember(client(), queue), RawMember(client(), queue)
    with limited_to(connection, {"client-id": name_of(slow.connection)}, consumer_byte_rate=10_000):
        assert slow.fetch(wait_ms=5_000) == [(0, 0, 1)]
        refused = slow.ask()
        assert refused.throttle_time_ms > 0
        assert acquired(refused) == []
        assert other.fetch(records=1) == [(1, 1, 1)]
        assert other.acknowledge((1, 1, [RELEASE])) == Error.NONE
        assert slow.fetch(wait_ms=5_000) == [(1, 1, 2)]


def test_a_batch_larger_than_the_quota_is_not_withheld_for_ever(
    connection: Connection, client: Client, topic: str
) -> None:
    """Whoever used nothing gets one batch however large, and pays for it afterwards."""
    connection.ask(produce_request(topic, batch(30_000)), PRODUCE)
    slow = client()
    with limited_to(connection, {"client-id": name_of(slow)}, consumer_byte_rate=20_000):
        answer = slow.ask(fetch_request(topic, 0), FETCH)
        assert len(answer.responses[0].partitions[0].records) > 30_000
        assert slow.ask(fetch_request(topic, 0), FETCH).throttle_time_ms > 0


def test_a_session_does_not_believe_what_was_not_told(
    connection: Connection, client: Client, topic: str
) -> None:
    """A throttled first fetch opens no session; a throttled later one keeps it (KIP-227)."""
    for _ in range(2):
        connection.ask(produce_request(topic, batch(9_000)), PRODUCE)
    slow = client()
    with limited_to(connection, {"client-id": name_of(slow)}, consumer_byte_rate=10_000):
        first = slow.ask(fetch_request(topic, 0, session_epoch=0), FETCH)
        assert first.session_id != 0
        again = fetch_request(topic, 1, session_id=first.session_id, session_epoch=1)
        second = slow.ask(again, FETCH)
        assert (second.responses, second.session_id) == ([], first.session_id)
        assert second.throttle_time_ms > 0
        third = fetch_request(topic, 1, session_id=first.session_id, session_epoch=2)
        assert slow.ask(third, FETCH).responses[0].partitions[0].high_watermark == 2


def test_time_is_limited_too(connection: Connection, client: Client) -> None:
    """request_percentage: whoever asks without pause is made to pause."""
    busy = client()
    with limited_to(connection, {"client-id": name_of(busy)}, request_percentage=0.01):
        everything = MetadataRequest(topics=None)
        waits = (busy.ask(everything, METADATA).throttle_time_ms for _ in range(500))
        # A tenth of a millisecond in a second: many answers' worth, but not five hundred's.
        assert 0 < next(filter(None, waits), 0) <= 1_000  # never more than a window at once


def test_users_are_limited_as_anonymous(connection: Connection, client: Client, topic: str) -> None:
    """Without authentication everybody is the user ANONYMOUS; a client's own quota goes first."""
    one = client()
    user = {"user": "ANONYMOUS", "client-id": name_of(one)}
    with (
        limited_to(connection, {"client-id": name_of(one)}, producer_byte_rate=1e9),
        limited_to(connection, user, producer_byte_rate=10_000),
    ):
        answer = one.ask(produce_request(topic, batch(15_000)), PRODUCE)
        assert answer.throttle_time_ms > 0


@pytest.mark.parametrize("client_id", [None, "", "<default>", "\u0000/../%2F", "x" * 30_000])
def test_whatever_a_client_calls_itself_it_is_limited(
    connection: Connection, limited: str, topic: str, client_id: str | None
) -> None:
    """No name, an empty, a hostile or an endless one: each has the default quota."""
    with (
        limited_to(connection, {"client-id": None}, producer_byte_rate=10_000),
        Connection(limited, client_id=client_id) as client,
    ):
        assert client.ask(produce_request(topic, batch(15_000)), PRODUCE).throttle_time_ms > 0


# -- changes of topics (KIP-599) -------------------------------------------------------------------


def create(name: str, partitions: int) -> CreateTopicsRequest:
    topic = CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=5_000)


def test_too_many_new_partitions_are_refused(
    connection: Connection, client: Client, topic_name: str
) -> None:
    """The bucket may go into debt once; then THROTTLING_QUOTA_EXCEEDED until it is out of it."""
    one, numbers = client(), count()
    with limited_to(connection, {"client-id": name_of(one)}, controller_mutation_rate=2):
        first = one.ask(create(f"{topic_name}-a", 5), 7)
        assert (first.topics[0].error_code, first.throttle_time_ms) == (0, 0)
        second = one.ask(create(f"{topic_name}-b", 1), 7)
        assert second.topics[0].error_code == Error.THROTTLING_QUOTA_EXCEEDED
        assert 0 < second.throttle_time_ms <= 500
        grown = CreatePartitionsTopic(name=f"{topic_name}-a", count=6, assignments=None)
        growth = CreatePartitionsRequest(topics=[grown], timeout_ms=5_000, validate_only=False)
        eventually(lambda: one.ask(growth, 3).results[0].error_code == 0, "room for one more")
        # Two tokens in a second: some attempts go well, and after a while one does not.
        eventually(
            lambda: (
                one.ask(create(f"{topic_name}-{next(numbers)}", 4), 7).topics[0].error_code
                == Error.THROTTLING_QUOTA_EXCEEDED
            ),
            "a refusal",
        )
        deletion = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=f"{topic_name}-a")], timeout_ms=5_000
        )
        assert one.ask(deletion, 6).responses[0].error_code in (0, Error.THROTTLING_QUOTA_EXCEEDED)


def test_clients_of_old_wait_afterwards(
    connection: Connection, client: Client, topic_name: str
) -> None:
    """CreateTopics v5 knows no such error: it is done, and the client must wait."""
    old = client()
    with limited_to(connection, {"client-id": name_of(old)}, controller_mutation_rate=5):
        answers = [old.ask(create(f"{topic_name}-{number}", 6), 5) for number in range(2)]
        assert [each.topics[0].error_code for each in answers] == [0, 0]
        assert answers[1].throttle_time_ms > 0


# -- connections -----------------------------------------------------------------------------------


def is_served(bootstrap: str) -> bool:
    try:
        with Connection(bootstrap, client_id="visitor") as visitor:
            visitor.ask(NOTHING, METADATA)
    except (ConnectionClosed, OSError):
        return False
    return True


def test_an_address_may_not_connect_too_often(connection: Connection, limited: str) -> None:
    """The connections above the quota are closed unheard, after a moment; the others are served."""
    with limited_to(connection, {"ip": "127.0.0.1"}, connection_creation_rate=1):
        assert [is_served(limited) for _ in range(2)] == [True, False]
        eventually(lambda: is_served(limited), "a welcome")


def test_a_broker_takes_connections_one_after_the_other(
    connection: Connection, limited: str
) -> None:
    """max.connection.creation.rate: they are all served, at this rate. It changes on the fly."""
    from headrace.wire.messages.incremental_alter_configs import (
        AlterableConfig,
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
    )
    from tests.clients.configs import Resource

    def put(op: Op, value: str | None) -> None:
        setting = AlterableConfig(
            name="max.connection.creation.rate", config_operation=op, value=value
        )
        resource = AlterConfigsResource(
            resource_type=Resource.BROKER, resource_name="", configs=[setting]
        )
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
        assert connection.ask(request, 1).responses[0].error_code == 0

    host, _, port = limited.rpartition(":")
    put(Op.SET, "5")
    try:
        began = time.monotonic()
        opened = [socket.create_connection((host, int(port)), 10) for _ in range(7)]
        for each in opened:
            each.close()
        assert is_served(limited)
        assert time.monotonic() - began > 0.3
    finally:
        put(Op.DELETE, None)
    eventually(lambda: timed(lambda: is_served(limited))[1] < 300, "no more waiting")
