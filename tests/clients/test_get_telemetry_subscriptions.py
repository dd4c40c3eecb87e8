"""GetTelemetrySubscriptions: which metrics which client shall push (KIP-714)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.types import ZERO_UUID
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.clients.configs import Op, Resource, Source, changed, described
from tests.clients.raw import Connection
from tests.clients.telemetry import ask_subscription, push, subscription

ZSTD, LZ4, GZIP, SNAPPY = 4, 3, 1, 2


@pytest.fixture
def metered(metered_broker: Broker) -> Iterator[Connection]:
    with Connection(metered_broker.bootstrap_servers, client_id="app-7") as opened:
        hello = ApiVersionsRequest(client_software_name="tester", client_software_version="1.2")
        opened.ask(hello, 3)
        yield opened


def test_without_a_subscription_nothing_is_wanted(metered: Connection) -> None:
    """An instance id, all codecs, the default interval, and no metrics."""
    told = ask_subscription(metered)
    assert told.error_code == Error.NONE
    assert told.client_instance_id != ZERO_UUID
    assert told.requested_metrics == []
    assert told.push_interval_ms == 300_000
    assert told.telemetry_max_bytes == 1 << 20
    assert told.accepted_compression_types == [ZSTD, LZ4, GZIP, SNAPPY]


def test_subscriptions_that_fit_are_put_together(metered: Connection) -> None:
    """Metrics of all of them, the shortest interval; those that do not fit count for nothing."""
    fits = {"metrics": "org.a.,org.b.", "interval.ms": "60000"}
    with (
        subscription(metered, "one", **_underscored(fits), match="client_id=app-.*"),
        subscription(metered, "two", metrics="org.c.", interval_ms=500),
        subscription(metered, "not-me", metrics="org.d.", match="client_id=other"),
        subscription(
            metered,
            "software",
            metrics="org.e.",
            match="client_software_name=tester,client_software_version=1\\..*",
        ),
        subscription(metered, "address", metrics="org.f.", match="client_source_address=10\\..*"),
    ):
        told = ask_subscription(metered)
        assert told.requested_metrics == ["org.a.", "org.b.", "org.c.", "org.e."]
        assert told.push_interval_ms == 500
        with subscription(metered, "all", metrics="*"):
            assert ask_subscription(metered).requested_metrics == ["*"]


def _underscored(settings: dict[str, str]) -> dict[str, str]:
    return {key.replace(".", "_"): value for key, value in settings.items()}


def test_the_id_is_the_same_until_something_changes(metered: Connection) -> None:
    """A subscription's id is that of its contents, for one client."""
    with subscription(metered, "changing", metrics="a", interval_ms=100):
        first = ask_subscription(metered)
        other = ask_subscription(metered)
        assert first.client_instance_id != other.client_instance_id
        with subscription(metered, "more", metrics="b", interval_ms=100):
            assert push(metered, first, b"") == Error.UNKNOWN_SUBSCRIPTION_ID
            again = ask_subscription(metered, first.client_instance_id)
            assert again.error_code == Error.NONE, "after that it may ask at once"
            assert again.subscription_id != first.subscription_id


def test_who_asks_too_early_is_told_to_wait(metered: Connection) -> None:
    """The interval is also that of this question."""
    told = ask_subscription(metered)
    early = ask_subscription(metered, told.client_instance_id)
    assert early.error_code == Error.THROTTLING_QUOTA_EXCEEDED


def test_telemetry_is_told_of_while_somebody_wants_it(metered: Connection) -> None:
    """ApiVersions names the two APIs only while there is a subscription."""

    def keys() -> set[int]:
        return {each.api_key for each in metered.ask(ApiVersionsRequest(), 0).api_keys}

    assert not keys() & {71, 72}
    with subscription(metered, "any", metrics="*"):
        assert keys() >= {71, 72}


def test_a_subscription_is_a_resource_with_settings(metered: Connection) -> None:
    """It is listed, described with its source, and gone with its last setting."""
    with subscription(metered, "shown", metrics="x,y", interval_ms=1000):
        for version in (0, 1):
            asked = ListConfigResourcesRequest(
                resource_types=[Resource.CLIENT_METRICS] if version else []
            )
            listed = metered.ask(asked, version).config_resources
            assert [each.resource_name for each in listed] == ["shown"]
        result = described(metered, "shown", kind=Resource.CLIENT_METRICS)
        found = {each.name: (each.value, each.config_source) for each in result.configs}
        assert found == {
            "metrics": ("x,y", Source.CLIENT_METRICS),
            "interval.ms": ("1000", Source.CLIENT_METRICS),
            "match": ("", Source.DEFAULT),
        }
    asked = ListConfigResourcesRequest(resource_types=[Resource.CLIENT_METRICS])
    assert metered.ask(asked, 1).config_resources == []


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("s", "interval.ms", "99"),
        ("s", "interval.ms", "3600001"),
        ("s", "match", "nonsense"),
        ("s", "match", "shoe_size=44"),
        ("s", "match", "client_id=("),
        ("s", "unknown", "1"),
        ("", "metrics", "*"),
    ],
)
def test_what_makes_no_sense_is_refused(
    metered: Connection, name: str, key: str, value: str
) -> None:
    """INVALID_REQUEST, with words."""
    outcome = changed(metered, name, (key, Op.SET, value), kind=Resource.CLIENT_METRICS)
    assert outcome.error_code == Error.INVALID_REQUEST
    assert outcome.error_message
