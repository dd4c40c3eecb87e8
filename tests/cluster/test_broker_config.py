"""The settings of one broker: files, levels, typed access, the dump at start."""

from __future__ import annotations

import pytest

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_keys import BROKER_KEYS
from headrace.errors import ConfigError


@pytest.mark.spec("admin:RQ-20", "slides:A24")
def test_a_server_properties_works_as_it_is() -> None:
    """A file as the labs write it, with an override from the command line."""
    text = """
    # The id of the broker. This must be set to a unique integer for each broker.
    broker.id=0
    listeners=PLAINTEXT://:9093
    log.dirs=/tmp/kafka-logs1, /tmp/kafka-logs2
    num.partitions = 13
    auto.create.topics.enable=false
    delete.topic.enable:true
    """
    config = BrokerConfig.from_properties(text, {"num.partitions": "33"})
    assert config.broker_id == 0
    assert config.log_dirs == ["/tmp/kafka-logs1", "/tmp/kafka-logs2"]
    assert config.get_int("num.partitions") == 33
    assert config.get_bool("auto.create.topics.enable") is False
    assert config.listeners[0].port == 9093


@pytest.mark.spec("admin:LS-07", "slides:A41")
def test_log_dir_is_used_if_log_dirs_is_absent() -> None:
    """`log.dirs` wins; spaces after commas do not count."""
    assert BrokerConfig().log_dirs == ["/tmp/kafka-logs"]
    assert BrokerConfig({"log.dir": "/a"}).log_dirs == ["/a"]
    assert BrokerConfig({"log.dir": "/a", "log.dirs": "/b,  /c"}).log_dirs == ["/b", "/c"]


def test_typed_access() -> None:
    """Each type has its getter; an unknown key is the program's own mistake."""
    config = BrokerConfig({"broker.rack": "eu-1a"})
    assert config.get_float("log.cleaner.min.cleanable.ratio") == 0.5
    assert config.get_list("group.consumer.assignors") == ["uniform", "range"]
    assert config.get_str("broker.rack") == "eu-1a"
    assert config.get("log.retention.ms") is None
    with pytest.raises(KeyError):
        config.get("no.such.key")


def test_an_invalid_value_stops_the_broker() -> None:
    """The message names the key, the value and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        BrokerConfig({"num.partitions": "0"})
    assert str(caught.value) == (
        "Invalid value 0 for configuration num.partitions: allowed is at least 1"
    )
    with pytest.raises(ConfigError, match=r"Invalid value many for configuration num\.io\.threads"):
        BrokerConfig.from_properties("num.io.threads=many")


def test_unknown_keys_are_reported_and_do_no_harm() -> None:
    """A typo gives a warning, not a broker that does not start."""
    config = BrokerConfig({"num.partition": "3", "broker.id": "1"})
    assert config.unknown_keys == ["num.partition"]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"node.id": "1", "broker.id": "2"}, "node.id is 1 and broker.id is 2"),
        ({"replica.socket.timeout.ms": "100"}, "replica.socket.timeout.ms"),
        ({"replica.lag.time.max.ms": "499"}, "replica.lag.time.max.ms"),
        ({"group.min.session.timeout.ms": "1800001"}, "group.max.session.timeout.ms"),
        ({"log.cleaner.max.compaction.lag.ms": "5", "log.cleaner.min.compaction.lag.ms": "6"}, "6"),
        ({"remote.log.storage.system.enable": "true"}, "no tiered storage"),
    ],
)
@pytest.mark.spec("slides:B28")
def test_values_that_do_not_fit_together_are_refused(settings: dict[str, str], text: str) -> None:
    """Each is right alone; the message names both keys."""
    with pytest.raises(ConfigError, match=text):
        BrokerConfig(settings)


def test_node_id_and_broker_id_are_the_same() -> None:
    """Kafka 4 has only `node.id`, older files only `broker.id`; -1 asks for a generated id."""
    assert BrokerConfig({"node.id": "3"}).broker_id == 3
    assert BrokerConfig({"broker.id": "4"}).broker_id == 4
    assert BrokerConfig({"node.id": "5", "broker.id": "5"}).broker_id == 5
    assert BrokerConfig().broker_id == -1


@pytest.mark.spec("slides:A40")
def test_the_dump_lists_every_key_in_order() -> None:
    """'KafkaConfig values:' and every key, alphabetical, with the value in force."""
    config = BrokerConfig(
        {"broker.id": "0", "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"},
        dynamic={"num.io.threads": "16", "ssl.keystore.password": "s3cr3t"},
    )
    lines = config.dump().removesuffix("\n").split("\n")
    assert lines[0] == "KafkaConfig values: "  # with a blank at its end, as Kafka writes it
    shown = dict(line.removeprefix("\t").split(" = ", 1) for line in lines[1:])
    assert list(shown) == sorted(BROKER_KEYS)
    assert shown["broker.id"] == "0"
    assert shown["num.io.threads"] == "16"
    assert shown["broker.rack"] == "null"
    assert shown["auto.create.topics.enable"] == "true"
    assert shown["sasl.enabled.mechanisms"] == "[PLAIN, SCRAM-SHA-256]"
    assert shown["ssl.keystore.password"] == "[hidden]"
    assert "s3cr3t" not in config.dump()


def test_a_listener_can_have_settings_of_its_own() -> None:
    """`listener.name.X.key` wins over `key`, and falls back to it."""
    config = BrokerConfig(
        {
            "ssl.keystore.location": "/all",
            "ssl.client.auth": "required",
            "listener.name.clients.ssl.keystore.location": "/clients",
        }
    )
    assert config.get("listener.name.clients.ssl.keystore.location") == "/clients"
    assert config.get("listener.name.clients.ssl.client.auth") == "required"
    with pytest.raises(ConfigError, match=r"ssl\.client\.auth"):
        BrokerConfig({"listener.name.clients.ssl.client.auth": "perhaps"})
