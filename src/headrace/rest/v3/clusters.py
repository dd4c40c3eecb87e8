"""Clusters and their brokers. A proxy knows one cluster: the one of `bootstrap.servers`."""

from __future__ import annotations

from typing import Final

from headrace.admin.client import Admin
from headrace.admin.views import BrokerView, ClusterView
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.resources import Links, Listing, Related, Resource, enter

_CLUSTER: Final = "/v3/clusters/{cluster_id}"
table: Final = v3_table(tag="Clusters")


class KafkaCluster(Resource, kw_only=True):
    """A cluster."""

    controller: Related
    acls: Related
    brokers: Related
    broker_configs: Related
    consumer_groups: Related
    topics: Related
    partition_reassignments: Related


class KafkaClusterList(Listing[KafkaCluster]):
    """The one cluster."""


class KafkaBroker(Resource, kw_only=True):
    """A broker."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    configs: Related
    partition_replicas: Related


class KafkaBrokerList(Listing[KafkaBroker]):
    """All brokers."""


@table.get("/v3/clusters", "List the clusters that this proxy knows", reply=KafkaClusterList)
async def list_clusters(call: Call) -> KafkaClusterList:
    described = await call.service.calls.ask(Admin.describe_cluster)
    links = Links(call, described.cluster_id)
    return KafkaClusterList(links.clusters, [_cluster(links, described)])


@table.get(_CLUSTER, "Get a cluster", reply=KafkaCluster)
async def get_cluster(call: Call) -> KafkaCluster:
    calls, links = await enter(call)
    return _cluster(links, await calls.ask(Admin.describe_cluster))


def _cluster(links: Links, described: ClusterView) -> KafkaCluster:
    return KafkaCluster(
        metadata=links.metadata(crn=()),
        cluster_id=links.cluster_id,
        controller=links.related("brokers", described.controller),
        acls=links.related("acls"),
        brokers=links.related("brokers"),
        broker_configs=links.related("broker-configs"),
        consumer_groups=links.related("consumer-groups"),
        topics=links.related("topics"),
        partition_reassignments=links.related("topics", "-", "partitions", "-", "reassignment"),
    )


@table.get(f"{_CLUSTER}/brokers", "List brokers", tag="Brokers", reply=KafkaBrokerList)
async def list_brokers(call: Call) -> KafkaBrokerList:
    calls, links = await enter(call)
    described = await calls.ask(Admin.describe_cluster)
    data = [_broker(links, broker) for broker in described.brokers]
    return KafkaBrokerList(links.listed("brokers"), data)


@table.get(
    f"{_CLUSTER}/brokers/{{broker_id:int}}", "Get a broker", tag="Brokers", reply=KafkaBroker
)
async def get_broker(call: Call) -> KafkaBroker:
    calls, links = await enter(call)
    broker_id: int = call.path("broker_id")
    return _broker(links, await calls.ask(lambda admin: find_broker(admin, broker_id)))


def find_broker(admin: Admin, broker_id: int) -> BrokerView:
    """The broker of this id; others are not found."""
    for broker in admin.describe_cluster().brokers:
        if broker.id == broker_id:
            return broker
    raise faults.not_found(f"Broker {broker_id} cannot be found.")


def _broker(links: Links, broker: BrokerView) -> KafkaBroker:
    me = ("brokers", broker.id)
    return KafkaBroker(
        metadata=links.metadata(*me, crn=(f"broker={broker.id}",)),
        cluster_id=links.cluster_id,
        broker_id=broker.id,
        host=broker.host,
        port=broker.port,
        rack=broker.rack,
        configs=links.related(*me, "configs"),
        partition_replicas=links.related(*me, "partition-replicas"),
    )
