"""One proxy over one broker for the tests of version 3 and of live reading."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.testing import Broker
    from tests.rest.service import Service
    from tests.rest.v3.running_proxy import RunningProxy

pytest.register_assert_rewrite("tests.rest.v3.running_proxy", "tests.rest.v3.raw_http")


@pytest.fixture(scope="session")
def proxy(rest_broker: Broker, registry: Service) -> Iterator[RunningProxy]:
    """In this process, so that a test can look at what it holds."""
    from tests.rest.v3.running_proxy import RunningProxy

    with RunningProxy(rest_broker.bootstrap_servers, schema_registry_url=registry.url) as running:
        yield running


@pytest.fixture(scope="session")
def cluster(proxy: RunningProxy) -> str:
    """The path of the cluster: /v3/clusters/<its id>."""
    cluster_id: str = proxy.get("/v3/clusters")["data"][0]["cluster_id"]
    return f"/v3/clusters/{cluster_id}"


@pytest.fixture
def new_topic(proxy: RunningProxy, cluster: str) -> Callable[..., str]:
    """Creates topics: `new_topic(partitions=3)`."""

    def create(partitions: int = 1) -> str:
        name = f"t-{uuid.uuid4().hex[:12]}"
        body = {"topic_name": name, "partitions_count": partitions}
        assert proxy.ask("POST", f"{cluster}/topics", body).status == 201
        return name

    return create


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    """A topic with one partition."""
    return new_topic()
