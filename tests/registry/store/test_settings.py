"""Settings under Confluent's names: read, checked, and what is not known is said."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigError
from headrace.http.listeners import Listener
from headrace.registry.settings import registry_settings


@pytest.mark.spec("slides:G24", "slides:G39", "slides:G40")
def test_the_file_that_everybody_has() -> None:
    """The properties of the slides are taken; port 8081 and `_schemas` are the defaults."""
    settings, warnings = registry_settings(
        {
            "listeners": "http://0.0.0.0:8081",
            "kafkastore.connection.url": "localhost:2181",
            "kafkastore.topic": "_schemas",
            "debug": "false",
        }
    )
    assert settings.listeners == (Listener("http", "0.0.0.0", 8081),)
    assert (settings.topic, settings.debug) == ("_schemas", False)
    assert len(warnings) == 1
    assert "kafkastore.bootstrap.servers" in warnings[0]
    defaults, _ = registry_settings({})
    assert (defaults.listeners, defaults.topic) == (settings.listeners, settings.topic)
    assert defaults.group_id == "schema-registry"


@pytest.mark.spec("slides:G25", "admin:SR-08")
def test_other_keys() -> None:
    """`kafkastore.ssl.*` and `kafkastore.sasl.*` reach the client; a JVM's keys have no effect."""
    settings, warnings = registry_settings(
        {
            "kafkastore.bootstrap.servers": "SASL_SSL://a:1,SASL_SSL://b:2",
            "kafkastore.security.protocol": "SASL_SSL",
            "kafkastore.sasl.mechanism": "SCRAM-SHA-512",
            "kafkastore.sasl.jaas.config": "org.apache.kafka.common.security.scram."
            'ScramLoginModule required username="u" password="p";',
            "kafkastore.ssl.truststore.location": "/ca.pem",
            "response.mediatype.default": "application/json",
            "metrics.jmx.prefix": "kafka.schema.registry",
            "metric.reporters": "",
            "authentication.realm": "r",
        }
    )
    assert settings.kafka.bootstrap_servers == (("a", 1), ("b", 2))
    assert (settings.kafka.sasl_username, settings.kafka.ssl_ca_location) == ("u", "/ca.pem")
    assert settings.response_media_type == "application/json"
    assert warnings == ()


def test_unknown_keys_are_told() -> None:
    """A misspelt key is a setting that is silently not there."""
    _, warnings = registry_settings({"lsteners": "http://a:1", "kafkastore.x": "1"})
    assert [warning.split()[0] for warning in warnings] == ["lsteners", "kafkastore.x"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("listeners", ""),
        ("listeners", "a:1"),
        ("listeners", "ftp://a:1"),
        ("listeners", "http://a:99999"),
        ("listeners", "http://a"),
        ("listeners", "https://a:1"),
        ("inter.instance.protocol", "https"),
        ("kafkastore.topic", ""),
        ("kafkastore.timeout.ms", "0"),
        ("kafkastore.timeout.ms", "1s"),
        ("kafkastore.topic.replication.factor", "many"),
        ("leader.eligibility", "maybe"),
        ("schema.compatibility.level", "BACKWARDS"),
        ("authentication.method", "KERBEROS"),
        ("authentication.method", "BASIC"),
        ("authentication.roles", "boss"),
        ("response.mediatype.default", "text/html"),
        ("leader.heartbeat.interval.ms", "5000"),
        ("kafkastore.bootstrap.servers", "x:y"),
    ],
)
def test_bad_values_name_key_and_remedy(name: str, value: str) -> None:
    """The text has the key, and what is allowed or to be done."""
    with pytest.raises(ConfigError, match=name.removeprefix("kafkastore.")) as raised:
        registry_settings({name: value})
    assert len(str(raised.value)) > 30


def test_the_address_for_others() -> None:
    """`host.name` wins; a wildcard is no address."""
    settings, _ = registry_settings({"host.name": "h"})
    assert settings.advertised(Listener("http", "0.0.0.0", 1)).host == "h"
    settings, _ = registry_settings({})
    assert settings.advertised(Listener("http", "127.0.0.1", 1)).host == "127.0.0.1"
    assert settings.advertised(Listener("http", "0.0.0.0", 1)).host not in ("", "0.0.0.0")
