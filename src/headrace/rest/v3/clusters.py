"""Clusters and their brokers. A proxy knows one cluster: the one of `bootstrap.servers`."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from headrace.client.cluster import Cluster
from headrace.rest.openapi import Endpoint
from headrace.rest.v3 import faults, schemas
from headrace.rest.v3.access import broker_calls, enter
from headrace.rest.v3.asking import describe_cluster
from headrace.rest.v3.resources import Body, Links, listing, reply
from headrace.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)


async def list_clusters(request: Request) -> Response:
    described = await broker_calls(request.app).ask(describe_cluster)
    links = Links(request, described.cluster_id)
    return reply(listing("KafkaClusterList", links.clusters, [_cluster(links, described)]))


async def get_cluster(request: Request) -> Response:
    calls, links = await enter(request)
    return reply(_cluster(links, await calls.ask(describe_cluster)))


def _cluster(links: Links, described: DescribeClusterResponse) -> Body:
    return links.resource(
        "KafkaCluster",
        links.url(),
        links.crn(),
        controller=links.related("brokers", described.controller_id),
        acls=links.related("acls"),
        brokers=links.related("brokers"),
        broker_configs=links.related("broker-configs"),
        consumer_groups=links.related("consumer-groups"),
        topics=links.related("topics"),
        partition_reassignments=links.related("topics", "-", "partitions", "-", "reassignment"),
    )


async def list_brokers(request: Request) -> Response:
    calls, links = await enter(request)
    described = await calls.ask(describe_cluster)
    known = sorted(described.brokers, key=lambda broker: broker.broker_id)
    data = [_broker(links, broker) for broker in known]
    return reply(listing("KafkaBrokerList", links.url("brokers"), data))


async def get_broker(request: Request) -> Response:
    calls, links = await enter(request)
    broker_id: int = request.path_params["broker_id"]
    return reply(_broker(links, await calls.ask(lambda cluster: find_broker(cluster, broker_id))))


def find_broker(cluster: Cluster, broker_id: int) -> DescribeClusterBroker:
    """The broker of this id; others are not found."""
    for broker in describe_cluster(cluster).brokers:
        if broker.broker_id == broker_id:
            return broker
    raise faults.not_found(f"Broker {broker_id} cannot be found.")


def _broker(links: Links, broker: DescribeClusterBroker) -> Body:
    me = ("brokers", broker.broker_id)
    return links.resource(
        "KafkaBroker",
        links.url(*me),
        links.crn(f"broker={broker.broker_id}"),
        broker_id=broker.broker_id,
        host=broker.host,
        port=broker.port,
        rack=broker.rack,
        configs=links.related(*me, "configs"),
        partition_replicas=links.related(*me, "partition-replicas"),
    )


_CLUSTER: Final = "/v3/clusters/{cluster_id}"
ENDPOINTS: Final = (
    Endpoint(
        "/v3/clusters",
        "GET",
        list_clusters,
        "List the clusters that this proxy knows",
        "Clusters",
        responses={200: schemas.listing(schemas.CLUSTER)},
    ),
    Endpoint(
        _CLUSTER,
        "GET",
        get_cluster,
        "Get a cluster",
        "Clusters",
        responses={200: schemas.CLUSTER},
        errors=(404,),
    ),
    Endpoint(
        f"{_CLUSTER}/brokers",
        "GET",
        list_brokers,
        "List brokers",
        "Brokers",
        responses={200: schemas.listing(schemas.BROKER)},
        errors=(404,),
    ),
    Endpoint(
        f"{_CLUSTER}/brokers/{{broker_id:int}}",
        "GET",
        get_broker,
        "Get a broker",
        "Brokers",
        responses={200: schemas.BROKER},
        errors=(404,),
    ),
)
