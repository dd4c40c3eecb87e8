"""Scraped numbers against a load whose every request, byte and record is known."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.header import encode_request
from headrace.wire.messages import delete_topics, find_coordinator, offset_commit
from tests.broker.metrics.scraping import Scraped, scrape
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import (
    CREATE_TOPICS_VERSION,
    METADATA_VERSION,
    PRODUCE_VERSION,
    create_topics_request,
    fetch_request,
    metadata_request,
    produce_request,
)

FETCH_VERSION = 12  # the last that names topics
TRAFFIC = "kafka_server_brokertopicmetrics_"
REQUESTS = "kafka_network_requestmetrics_"
STAGES = (
    "requestqueuetimems",
    "localtimems",
    "remotetimems",
    "responsequeuetimems",
    "responsesendtimems",
)


@pytest.fixture
def connection(broker: Broker) -> Iterator[Connection]:
    with Connection(broker.bootstrap_servers, client_id="load") as opened:
        yield opened


def grown(broker: Broker, before: Scraped, name: str, **labels: str) -> float:
    """How much a counter has grown."""
    now = scrape(broker.metrics_url)
    return now.total(name, **labels) - before.total(name, **labels)


def create(connection: Connection, topic: str, partitions: int = 1) -> None:
    request = create_topics_request(topic, partitions=partitions)
    (created,) = connection.ask(request, CREATE_TOPICS_VERSION).topics
    assert created.error_code == Error.NONE


def commit(connection: Connection, group: str, topic: str, offsets: dict[int, int]) -> None:
    """Commit without being a member, as soon as there is a coordinator."""
    asked = find_coordinator.FindCoordinatorRequest(key="", key_type=0, coordinator_keys=[group])
    request = offset_commit.OffsetCommitRequest(
        group_id=group,
        member_id="",
        topics=[
            offset_commit.OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    offset_commit.OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_metadata=None
                    )
                    for index, offset in offsets.items()
                ],
            )
        ],
    )
    for _ in range(50):
        connection.ask(asked, 4)
        (answer,) = connection.ask(request, 8).topics
        if not any(each.error_code for each in answer.partitions):
            return
    raise AssertionError("the coordinator takes no offsets")


def test_bytes_and_records_agree_with_the_load(broker: Broker, connection: Connection) -> None:
    """Records and bytes in, bytes out, sizes and ends of logs are those of the script."""
    before = scrape(broker.metrics_url)
    create(connection, "exact", 2)
    batches = [batch_of(numbered_records(count, value_bytes=90)) for count in (1, 7, 100)]
    for batch in batches:
        connection.ask(produce_request("exact", batch), PRODUCE_VERSION)
    other = batch_of(numbered_records(5))
    connection.ask(produce_request("exact", other, partition=1), PRODUCE_VERSION)
    (got,) = connection.ask(fetch_request("exact", 0), FETCH_VERSION).responses[0].partitions
    written = sum(map(len, batches))
    assert len(got.records) == written

    now = scrape(broker.metrics_url)

    assert now.value(f"{TRAFFIC}messagesin_total", topic="exact") == 1 + 7 + 100 + 5
    assert now.value(f"{TRAFFIC}bytesin_total", topic="exact") == written + len(other)
    assert now.value(f"{TRAFFIC}bytesout_total", topic="exact") == written
    assert now.value(f"{TRAFFIC}totalproducerequests_total", topic="exact") == 4
    assert now.value(f"{TRAFFIC}totalfetchrequests_total", topic="exact") == 1
    for index, (end, size) in enumerate([(108, written), (5, len(other))]):
        where = {"topic": "exact", "partition": str(index)}
        assert now.value("kafka_log_log_logendoffset", **where) == end
        assert now.value("kafka_log_log_size", **where) == size
        assert now.value("kafka_log_log_numlogsegments", **where) == 1
        assert now.value("kafka_log_log_logstartoffset", **where) == 0
    everything = now.value(f"{TRAFFIC}bytesin_total") - before.value(f"{TRAFFIC}bytesin_total")
    assert everything == written + len(other), "the sum over all topics grows by the same"


@pytest.mark.spec("admin:MO-05")
def test_requests_and_their_times_are_all_there(broker: Broker, connection: Connection) -> None:
    """Each request is counted by API and version, and once in every stage of its time."""
    before = scrape(broker.metrics_url)
    for _ in range(37):
        connection.ask(metadata_request(), METADATA_VERSION)
    version = str(METADATA_VERSION)
    asked = {"request": "Metadata"}
    assert grown(broker, before, f"{REQUESTS}requests_total", **asked, version=version) == 37
    assert grown(broker, before, f"{REQUESTS}totaltimems_count", **asked) == 37
    now = scrape(broker.metrics_url)
    parts = [now.value(f"{REQUESTS}{stage}_sum", **asked) for stage in STAGES]
    assert sum(parts) == pytest.approx(now.value(f"{REQUESTS}totaltimems_sum", **asked))
    assert now.value(f"{REQUESTS}responsesendtimems_sum", **asked) > 0
    assert 0 < now.value(f"{REQUESTS}localtimems", **asked, quantile="0.99") < 10_000


def test_incoming_and_outgoing_bytes_are_those_of_the_socket(
    broker: Broker, connection: Connection
) -> None:
    """What a client has sent and received is what the broker has counted."""
    before = scrape(broker.metrics_url)
    sent = received = 0
    for number in range(5):
        frame = b"".join(encode_request(number, "me", METADATA_VERSION, metadata_request()))
        connection.send_bytes(frame)
        sent += len(frame)
        received += 4 + len(connection.receive_frame())
    of_sockets = "kafka_server_socket_server_metrics_"
    assert grown(broker, before, f"{of_sockets}outgoing_byte_total") == received
    assert grown(broker, before, f"{of_sockets}incoming_byte_total") == sent


def test_a_fetch_that_waits_spends_its_time_remotely(
    broker: Broker, connection: Connection
) -> None:
    """A long poll is in the purgatory, and afterwards its wait is remote time, not local time."""
    create(connection, "waiting")
    before = scrape(broker.metrics_url)
    poll = connection.send(fetch_request("waiting", 0, max_wait_ms=1_500), FETCH_VERSION)
    purgatory = "kafka_server_delayedoperationpurgatory_"
    # The scrape comes on another connection: it may be served before the poll has arrived.
    for _ in range(100):
        now = scrape(broker.metrics_url)
        if now.value(f"{purgatory}purgatorysize", delayedOperation="Fetch") == 1:
            break
    else:
        pytest.fail("the fetch is not in the purgatory")
    assert now.value(f"{purgatory}numdelayedoperations", delayedOperation="Fetch") == 1
    fetch = fetch_request("waiting", 0)
    connection.answer(poll, type(fetch), FETCH_VERSION)
    assert 1_450 < grown(broker, before, f"{REQUESTS}remotetimems_sum", request="Fetch") < 20_000
    assert grown(broker, before, f"{REQUESTS}localtimems_sum", request="FetchConsumer") < 1_000
    assert grown(broker, before, f"{REQUESTS}totaltimems_count", request="FetchFollower") == 0
    now = scrape(broker.metrics_url)
    assert now.value(f"{purgatory}purgatorysize", delayedOperation="Fetch") == 0


@pytest.mark.spec("book2:R-08")
def test_refused_requests_are_told_by_their_error(broker: Broker, connection: Connection) -> None:
    """Errors are counted by API and code, refused records by topic; what succeeds is NONE."""
    create(connection, "refusing")
    before = scrape(broker.metrics_url)
    batch = batch_of(numbered_records(3))
    damaged = bytearray(batch)
    damaged[-1] ^= 1
    connection.ask(produce_request("refusing", batch), PRODUCE_VERSION)
    for _ in range(3):
        connection.ask(produce_request("refusing", memoryview(damaged)), PRODUCE_VERSION)
    connection.ask(produce_request("nowhere", batch), PRODUCE_VERSION)
    connection.ask(fetch_request("refusing", 999), FETCH_VERSION)

    def errors(request: str, error: Error) -> float:
        name = f"{REQUESTS}errors_total"
        return grown(broker, before, name, request=request, error=error.name)

    assert errors("Produce", Error.NONE) == 1
    assert errors("Produce", Error.CORRUPT_MESSAGE) == 3
    assert errors("Produce", Error.UNKNOWN_TOPIC_OR_PARTITION) == 1
    assert errors("Fetch", Error.OFFSET_OUT_OF_RANGE) == 1
    failed = f"{TRAFFIC}failedproducerequests_total"
    assert grown(broker, before, failed, topic="refusing") == 3
    rejected = f"{TRAFFIC}bytesrejected_total"
    assert grown(broker, before, rejected, topic="refusing") == 3 * len(batch)
    assert grown(broker, before, f"{TRAFFIC}failedfetchrequests_total", topic="refusing") == 1
    now = scrape(broker.metrics_url)
    assert not any(("topic", "nowhere") in labels for _, labels in now.samples)
    assert now.value(failed) - before.value(failed) == 4


def test_acks_0_is_timed_although_it_has_no_answer(broker: Broker, connection: Connection) -> None:
    """A produce without an answer is over when its handler is done."""
    create(connection, "silent")
    before = scrape(broker.metrics_url)
    for _ in range(4):
        batch = batch_of(numbered_records(1))
        connection.send(produce_request("silent", batch, acks=0), PRODUCE_VERSION)
    connection.ask(metadata_request(), METADATA_VERSION)
    assert grown(broker, before, f"{REQUESTS}totaltimems_count", request="Produce") == 4
    assert grown(broker, before, f"{TRAFFIC}messagesin_total", topic="silent") == 4


@pytest.mark.spec("book2:R-03", "book2:R-16")
def test_lag_is_the_distance_to_the_end(broker: Broker, connection: Connection) -> None:
    """A group's offsets and its lag, partition by partition, and no more than that."""
    create(connection, "read", 3)
    for index, count in enumerate((10, 20, 30)):
        batch = batch_of(numbered_records(count))
        connection.ask(produce_request("read", batch, partition=index), PRODUCE_VERSION)
    commit(connection, 'late "readers"', "read", {0: 10, 1: 13, 2: 0})
    now = scrape(broker.metrics_url)
    found = {
        dict(labels)["partition"]: value
        for (name, labels), value in now.samples.items()
        if name == "kafka_consumergroup_lag" and ("topic", "read") in labels
    }
    assert found == {"0": 0, "1": 7, "2": 30}
    where = {"group": 'late "readers"', "topic": "read", "partition": "1"}
    assert now.value("kafka_consumergroup_current_offset", **where) == 13
    assert now.value("kafka_coordinator_group_groupmetadatamanager_numoffsets") == 3
    assert now.value("kafka_server_group_coordinator_metrics_group_count", protocol="classic") == 1
    states = "kafka_server_group_coordinator_metrics_classic_group_count"
    assert now.value(states, state="Empty") == 1


def test_what_a_deleted_topic_had_stays_in_the_sum(broker: Broker, connection: Connection) -> None:
    """The sum over all topics never falls, though the topic's own numbers are gone."""
    create(connection, "passing")
    batch = batch_of(numbered_records(9))
    connection.ask(produce_request("passing", batch), PRODUCE_VERSION)
    before = scrape(broker.metrics_url)
    request = delete_topics.DeleteTopicsRequest(topic_names=["passing"], timeout_ms=10_000)
    connection.ask(request, 5)
    now = scrape(broker.metrics_url)
    name = f"{TRAFFIC}messagesin_total"
    assert (name, frozenset({("topic", "passing")})) not in now.samples
    assert now.value(name) == before.value(name)


@pytest.mark.spec("book2:R-11", "book2:R-12", "book2:R-13", "book2:R-14", "book2:R-15")
def test_a_healthy_broker_says_so(broker: Broker) -> None:
    """The numbers that alarms look at, on a broker to which nothing has happened."""
    now = scrape(broker.metrics_url)
    manager = "kafka_server_replicamanager_"
    assert now.value(f"{manager}underreplicatedpartitions") == 0
    assert now.value(f"{manager}offlinereplicacount") == 0
    assert now.value(f"{manager}partitioncount") == now.value(f"{manager}leadercount") >= 0
    controller = "kafka_controller_kafkacontroller_"
    assert now.value(f"{controller}activecontrollercount") == 1
    assert now.value(f"{controller}offlinepartitionscount") == 0
    assert now.value("kafka_server_kafkaserver_brokerstate") == 3
    assert now.value("process_open_fds") < now.value("process_max_fds")
    assert now.value("process_resident_memory_bytes") > 10 << 20
