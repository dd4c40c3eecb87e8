"""Where a share group begins: words and durations as Kafka takes them."""

from __future__ import annotations

import pytest

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_changes import alter_group
from headrace.cluster.configs import describe_group, group_config, group_value
from headrace.cluster.image import ClusterImage
from headrace.cluster.offset_reset import duration_ms
from headrace.errors import ClientFault

RESET = "share.auto.offset.reset"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT1H", 3_600_000),
        ("P2DT3H4M", 183_840_000),
        ("PT1.5S", 1_500),
        ("pt10s", 10_000),
        ("P1D", 86_400_000),
        ("PT0S", 0),
    ],
)
def test_durations(text: str, expected: int) -> None:
    """ISO 8601: days, hours, minutes, seconds with a fraction, in either case."""
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1H", "PT-1H", "-PT1H", "PT1H ", "P1M"])
def test_what_is_no_duration(text: str) -> None:
    """Negative ones, and months, are none."""
    assert duration_ms(text) is None


@pytest.mark.parametrize("value", ["earliest", "latest", "by_duration:PT1H", "by_duration:P1DT2H"])
def test_legal_values(value: str) -> None:
    """What a group may be told."""
    image, broker = ClusterImage("c"), BrokerConfig({})
    assert alter_group(image, "g", {RESET: value}, broker).configs == {RESET: value}
    assert group_value(RESET, {RESET: value}, broker) == value


@pytest.mark.parametrize("value", ["none", "Earliest", "by_duration:", "by_duration:PT-1S", "now"])
def test_illegal_values(value: str) -> None:
    """Everything else is refused, and the error says what is allowed."""
    with pytest.raises(ClientFault, match=r"earliest, latest or by_duration"):
        alter_group(ClusterImage("c"), "g", {RESET: value}, BrokerConfig({}))


def test_settings_of_share_groups() -> None:
    """Those that the broker limits, and those that only groups have."""
    broker = BrokerConfig({"group.share.delivery.count.limit": "6"})
    values = group_config({"share.record.lock.duration.ms": "20000"}, broker)
    assert values["share.delivery.count.limit"] == 6
    assert values["share.record.lock.duration.ms"] == 20_000
    assert (values[RESET], values["share.isolation.level"]) == ("latest", "read_uncommitted")
    assert values["share.renew.acknowledge.enable"] is True
    (entry,) = describe_group({}, broker, ["share.isolation.level"])
    assert [level.name for level in entry.synonyms] == ["share.isolation.level"]
    wrong = {"share.delivery.count.limit": "11"}
    with pytest.raises(ClientFault, match=r"group.share.max.delivery.count.limit is 10"):
        alter_group(ClusterImage("c"), "g", wrong, broker)
    wrong = {"share.heartbeat.interval.ms": "15000", "share.session.timeout.ms": "15000"}
    relaxed = BrokerConfig({"group.share.min.session.timeout.ms": "1000"})
    with pytest.raises(ClientFault, match=r"share.session.timeout.ms \(15000\) is not larger"):
        alter_group(ClusterImage("c"), "g", wrong, relaxed)
