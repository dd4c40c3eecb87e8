"""Listeners: where a broker listens and what it tells its clients."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.listeners import Listener, parse_listeners, parse_protocol_map
from headrace.errors import ConfigError


@pytest.mark.spec("admin:RQ-11")
def test_an_empty_host_listens_everywhere() -> None:
    """`PLAINTEXT://:9092` is the default, and means all interfaces."""
    assert BrokerConfig().listeners == [Listener("PLAINTEXT", "", 9092, "PLAINTEXT")]
    config = BrokerConfig({"listeners": "PLAINTEXT://:19092"})
    assert config.listeners == [Listener("PLAINTEXT", "", 19092, "PLAINTEXT")]


def test_one_broker_serves_four_protocols() -> None:
    """The four security protocols on their example ports, spaces after commas allowed."""
    text = "PLAINTEXT://h:9092, SSL://h:9093, SASL_PLAINTEXT://h:9094,  SASL_SSL://h:9095"
    assert BrokerConfig({"listeners": text}).listeners == [
        Listener("PLAINTEXT", "h", 9092, "PLAINTEXT"),
        Listener("SSL", "h", 9093, "SSL"),
        Listener("SASL_PLAINTEXT", "h", 9094, "SASL_PLAINTEXT"),
        Listener("SASL_SSL", "h", 9095, "SASL_SSL"),
    ]


@pytest.mark.spec("admin:RQ-14")
def test_named_listeners_take_their_protocol_from_the_map() -> None:
    """CLIENTS on one interface, REPLICATION on another; names are read in any case."""
    config = BrokerConfig(
        {
            "listeners": "CLIENTS://192.168.1.10:9092, REPLICATION://10.10.1.10:9093",
            "listener.security.protocol.map": "CLIENTS:SASL_SSL, REPLICATION:SASL_PLAINTEXT",
            "inter.broker.listener.name": "replication",
            "control.plane.listener.name": "CLIENTS",
        }
    )
    assert config.listeners == [
        Listener("CLIENTS", "192.168.1.10", 9092, "SASL_SSL"),
        Listener("REPLICATION", "10.10.1.10", 9093, "SASL_PLAINTEXT"),
    ]
    assert config.inter_broker_listener == "REPLICATION"
    assert config.control_plane_listener == "CLIENTS"


def test_brokers_talk_over_the_listener_that_fits() -> None:
    """By protocol if one has its name, over the first listener if nothing was said."""
    listeners = "SSL://:9093,PLAINTEXT://:9092"
    assert BrokerConfig({"listeners": listeners}).inter_broker_listener == "PLAINTEXT"
    settings = {"listeners": listeners, "security.inter.broker.protocol": "SSL"}
    assert BrokerConfig(settings).inter_broker_listener == "SSL"
    named = {"listeners": "A://:1", "listener.security.protocol.map": "A:SSL"}
    assert BrokerConfig(named).inter_broker_listener == "A"
    assert BrokerConfig(named).control_plane_listener is None


def test_wrong_inter_broker_settings_are_refused() -> None:
    """A listener that does not exist, and two settings that contradict each other."""
    with pytest.raises(ConfigError, match=r"inter\.broker\.listener\.name: .* PLAINTEXT"):
        _ = BrokerConfig({"inter.broker.listener.name": "X"}).inter_broker_listener
    with pytest.raises(ConfigError, match=r"security\.inter\.broker\.protocol"):
        _ = BrokerConfig({"security.inter.broker.protocol": "SSL"}).inter_broker_listener
    both = {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "SSL"}
    with pytest.raises(ConfigError, match="both set"):
        _ = BrokerConfig(both).inter_broker_listener


def test_advertised_addresses_are_what_clients_are_told() -> None:
    """`advertised.listeners` replaces the addresses; a listener that is left out is not told."""
    config = BrokerConfig(
        {
            "listeners": "PLAINTEXT://0.0.0.0:9092,SSL://0.0.0.0:9093",
            "advertised.listeners": "SSL://kafka.example.org:443",
        }
    )
    assert config.advertised_listeners == [Listener("SSL", "kafka.example.org", 443, "SSL")]


def test_without_advertised_addresses_the_listeners_are_told() -> None:
    """All interfaces have no name: the host stays empty for the broker to fill in."""
    text = "PLAINTEXT://0.0.0.0:9092,SSL://h:9093,SASL_SSL://[::]:9094"
    hosts = [item.host for item in BrokerConfig({"listeners": text}).advertised_listeners]
    assert hosts == ["", "h", ""]


@pytest.mark.spec("slides:A27", "slides:A29")
def test_legacy_host_and_port_make_a_listener() -> None:
    """`port`, `host.name`, `advertised.host.name` and `advertised.port` of old files still work."""
    config = BrokerConfig({"port": "9093", "host.name": "inner"})
    assert config.listeners == [Listener("PLAINTEXT", "inner", 9093, "PLAINTEXT")]
    assert config.advertised_listeners == config.listeners
    config = BrokerConfig(
        {"port": "9094", "advertised.host.name": "outer", "advertised.port": "6667"}
    )
    assert config.listeners == [Listener("PLAINTEXT", "", 9094, "PLAINTEXT")]
    assert config.advertised_listeners == [Listener("PLAINTEXT", "outer", 6667, "PLAINTEXT")]
    both = BrokerConfig({"port": "9093", "listeners": "PLAINTEXT://:9999"})
    assert both.listeners[0].port == 9999
    for key in ("advertised.host.name", "advertised.listeners", "advertised.port"):
        assert BrokerConfig().get(key) is None


def test_a_kafka_4_file_opens_no_controller_listener() -> None:
    """The stock KRaft file names a CONTROLLER listener, which has no meaning here."""
    config = BrokerConfig(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "advertised.listeners": "PLAINTEXT://localhost:9092",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        }
    )
    assert [listener.name for listener in config.listeners] == ["PLAINTEXT"]
    assert config.unknown_keys == []


def test_ipv6_addresses_stand_in_brackets() -> None:
    """They are read without the brackets and written with them."""
    listener = BrokerConfig({"listeners": "PLAINTEXT://[::1]:9092"}).listeners[0]
    assert listener.host == "::1"
    assert str(listener) == "PLAINTEXT://[::1]:9092"


def test_one_port_may_be_shared_by_the_two_address_families() -> None:
    """KIP-797: an IPv4 and an IPv6 address do not get in each other's way; port 0 never does."""
    text = "PLAINTEXT://127.0.0.1:9092,SSL://[::1]:9092"
    assert len(BrokerConfig({"listeners": text}).listeners) == 2
    assert len(BrokerConfig({"listeners": "PLAINTEXT://:0,SSL://:0"}).listeners) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "at least one"),
        ("9092", "is not NAME://host:port"),
        ("PLAINTEXT://host", "is not NAME://host:port"),
        ("PLAINTEXT://host:port", "is not NAME://host:port"),
        ("PLAINTEXT://host:70000", "0 to 65535"),
        ("PLAINTEXT://host:-1", "is not NAME://host:port"),
        ("PLAINTEXT://::1:9092", "is not NAME://host:port"),
        ("PLAINTEXT://a:1,PLAINTEXT://b:2", "PLAINTEXT occurs twice"),
        ("PLAINTEXT://a:9092,SSL://b:9092", "two listeners use port 9092"),
        ("PLAINTEXT://:9092,SSL://[::1]:9092", "two listeners use port 9092"),
        ("CLIENTS://:9092", r"listener\.security\.protocol\.map defines names"),
    ],
)
def test_wrong_listeners_are_refused(text: str, reason: str) -> None:
    """The error names the key, the value and what is wrong with it."""
    with pytest.raises(ConfigError, match=reason) as caught:
        _ = BrokerConfig({"listeners": text}).listeners
    assert f"Invalid value {text} for configuration listeners" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PLAINTEXT://0.0.0.0:9092", "no client can connect to 0.0.0.0"),
        ("PLAINTEXT://[::]:9092", "no client can connect to ::"),
        ("SSL://host:9092", "SSL is none of PLAINTEXT"),
        ("PLAINTEXT:/host:9092", "is not NAME://host:port"),
    ],
)
def test_wrong_advertised_listeners_are_refused(text: str, reason: str) -> None:
    """An address that no client could use, or of a listener that does not exist."""
    with pytest.raises(ConfigError, match=reason):
        _ = BrokerConfig({"advertised.listeners": text}).advertised_listeners


@pytest.mark.parametrize("text", ["A", "A:", ":SSL", "A:TLS", "A:SSL,A:SSL", "A:SSL:B"])
def test_wrong_protocol_maps_are_refused(text: str) -> None:
    """Every item is NAME:PROTOCOL, and every name occurs once."""
    with pytest.raises(ConfigError, match=r"listener\.security\.protocol\.map"):
        parse_protocol_map(text)


@given(st.text(max_size=40))
def test_any_text_is_a_list_of_listeners_or_refused(text: str) -> None:
    """Nothing but ConfigError comes out, and what is accepted is read back from its own text."""
    protocols = parse_protocol_map("X:SSL")
    try:
        listeners = parse_listeners("listeners", text, protocols)
    except ConfigError:
        return
    again = ",".join(str(listener) for listener in listeners)
    assert parse_listeners("listeners", again, protocols) == listeners
