"""The metrics of a cluster before and after a broker dies: what the documents' alarms look at."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.testing import Cluster
from tests.broker.metrics.scraping import Scraped, scrape
from tests.clients.raw import Connection
from tests.clients.requests import CREATE_TOPICS_VERSION, create_topics_request

CONTROLLER = "kafka_controller_kafkacontroller_"
MANAGER = "kafka_server_replicamanager_"
PROPERTIES = {
    "metrics.listener": "127.0.0.1:0",
    "offsets.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
}


def await_that(cluster: Cluster, is_so: Callable[[list[Scraped]], bool]) -> list[Scraped]:
    """Scrape all living brokers until something is so."""
    pause = threading.Event()
    for _ in range(600):
        now = [scrape(broker.metrics_url) for broker in cluster.brokers if broker.running]
        if is_so(now):
            return now
        pause.wait(0.1)
    raise AssertionError("it never is so")


def total(scraped: list[Scraped], name: str, **labels: str) -> float:
    return sum(each.total(name, **labels) for each in scraped)


@pytest.mark.spec(
    "admin:MO-01",
    "admin:MO-02",
    "admin:MO-03",
    "admin:MO-04",
    "admin:MO-10",
    "book2:R-01",
    "book2:R-04",
    "book2:R-11",
    "book2:R-12",
    "book2:R-13",
    "book2:R-15",
    "slides:M12",
)
def test_a_broker_dies_and_returns() -> None:
    """One controller; then partitions without leader, under-replicated ones, elections; then
    followers that are let in again.
    """
    with Cluster(brokers=2, properties=PROPERTIES) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        first, second = (broker.id for broker in cluster.brokers)
        with Connection(cluster.bootstrap_servers) as connection:
            for name, assignments in {
                "both": {0: [first, second], 1: [second, first]},
                "on-first": {0: [first], 1: [first]},
                "on-second": {0: [second]},
            }.items():
                request = create_topics_request(name, partitions=-1, assignments=assignments)
                (created,) = connection.ask(request, CREATE_TOPICS_VERSION).topics
                assert created.error_code == 0, created.error_message
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        for topic in ("both", "on-first", "on-second"):
            for number in range(30):
                producer.produce(topic, b"x" * 10, partition=0, key=str(number))
        assert producer.flush(20) == 0

        healthy = await_that(
            cluster,
            lambda now: (
                total(now, f"{CONTROLLER}globaltopiccount") >= 3
                and [each.value(f"{MANAGER}leadercount") for each in now] == [3, 2]
                and [each.value(f"{MANAGER}partitioncount") for each in now] == [4, 3]
            ),
        )
        assert total(healthy, f"{CONTROLLER}activecontrollercount") == 1
        assert total(healthy, f"{CONTROLLER}offlinepartitionscount") == 0
        assert total(healthy, f"{MANAGER}underreplicatedpartitions") == 0
        replicated = "kafka_server_brokertopicmetrics_replicationbytes"
        written = total(healthy, "kafka_server_brokertopicmetrics_bytesin_total", topic="both")
        copied = await_that(
            cluster, lambda now: total(now, f"{replicated}in_total", topic="both") == written
        )
        assert total(copied, f"{replicated}out_total", topic="both") == written
        lag = "kafka_server_fetcherlagmetrics_consumerlag"
        for each, leader in zip(copied, (second, first), strict=True):
            followed = {"clientId": f"ReplicaFetcherThread-0-{leader}", "topic": "both"}
            assert each.value(lag, **followed, partition=str(leader)) == 0
            assert each.value("kafka_server_replicafetchermanager_maxlag", clientId="Replica") == 0
        _lag_is_known_whoever_leads(cluster, admin)

        cluster.brokers[1].kill()
        partition = "kafka_cluster_partition_"
        elections = "kafka_controller_controllerstats_leaderelectionrateandtimems"
        # What the controller decides, the leader hears of a moment later; an election is counted
        # when the tree has answered, which may be later still.
        (alone,) = await_that(
            cluster,
            lambda now: (
                now[0].value(f"{CONTROLLER}offlinepartitionscount") >= 1
                and now[0].total(f"{partition}underreplicated", topic="both") == 2
                and now[0].value(f"{elections}_count") >= 1
            ),
        )
        assert alone.value(f"{CONTROLLER}activecontrollercount") == 1
        assert alone.value(f"{CONTROLLER}activebrokercount") == 1
        for index in ("0", "1"):
            where = {"topic": "both", "partition": index}
            assert alone.value(f"{partition}replicascount", **where) == 2
            assert alone.value(f"{partition}insyncreplicascount", **where) == 1
        assert alone.value(f"{MANAGER}underreplicatedpartitions") >= 2
        assert alone.value(f"{elections}_sum") > 0
        assert alone.value("kafka_controller_controllerstats_uncleanleaderelections_total") == 0

        cluster.brokers[1].start()
        back = await_that(
            cluster,
            lambda now: (
                len(now) == 2
                and total(now, f"{MANAGER}underreplicatedpartitions") == 0
                and now[0].value(f"{MANAGER}isrexpands_total") >= 2
            ),
        )
        assert total(back, f"{CONTROLLER}offlinepartitionscount") == 0


def _lag_is_known_whoever_leads(cluster: Cluster, admin: AdminClient) -> None:
    """The coordinator of a group tells its lag also where it has no replica of the partition."""
    offsets = [TopicPartition("on-first", 0, 11), TopicPartition("on-second", 0, 22)]
    change = ConsumerGroupTopicPartitions("readers", offsets)

    def is_committed(_: list[Scraped]) -> bool:
        # The topic of offsets is made by this very request; its partitions have leaders soon.
        (future,) = admin.alter_consumer_group_offsets([change]).values()
        return not any(each.error for each in future.result(20).topic_partitions)

    await_that(cluster, is_committed)
    lag = "kafka_consumergroup_lag"
    for topic, behind in (("on-first", 19), ("on-second", 8)):
        of = {"group": "readers", "topic": topic, "partition": "0"}
        await_that(cluster, lambda now, of=of, n=behind: total(now, lag, **of) == n)  # type: ignore[misc]
