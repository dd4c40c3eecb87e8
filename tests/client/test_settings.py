"""Client settings out of Kafka's property names."""

from __future__ import annotations

import pickle

import pytest

from headrace.client.settings import ClientSettings, client_settings
from headrace.client.tls import tls_context
from headrace.errors import ConfigError


def settings_of(**properties: str) -> ClientSettings:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return client_settings(named)[0]


def test_both_dialects_are_understood() -> None:
    """librdkafka's names and the Java client's lead to the same settings."""
    common = {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512"}
    java = settings_of(
        **common,
        ssl_truststore_location="ca.pem",
        ssl_truststore_type="PEM",
        ssl_keystore_location="me.pem",
        sasl_jaas_config="org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="al\\"ice" password="s;e=c ret";',
    )
    other = settings_of(
        **common,
        ssl_ca_location="ca.pem",
        ssl_certificate_location="me.pem",
        ssl_key_location="me.pem",
        sasl_username='al"ice',
        sasl_password="s;e=c ret",
    )
    assert java == other
    assert java.has_tls
    assert java.has_sasl


def test_settings_travel_and_key_caches() -> None:
    """Equal settings are one key, before and after a pickle, and a repr has no secret in it."""
    one = settings_of(bootstrap_servers="a:1,b:2", sasl_username="u", sasl_password="hidden")
    other = pickle.loads(pickle.dumps(one))
    assert {one: 1}[other] == 1
    assert "hidden" not in repr(one)


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("broker", (("broker", 9092),)),
        ("a:1, b:2,", (("a", 1), ("b", 2))),
        ("PLAINTEXT://a:9093", (("a", 9093),)),
        ("[::1]:9092", (("::1", 9092),)),
    ],
)
def test_bootstrap_servers(text: str, addresses: tuple[tuple[str, int], ...]) -> None:
    """Hosts with ports, several by commas."""
    assert settings_of(bootstrap_servers=text).bootstrap_servers == addresses


def test_the_environment_names_the_default_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """HEADRACE_BOOTSTRAP_SERVERS counts where nothing is said, and localhost without it."""
    monkeypatch.delenv("HEADRACE_BOOTSTRAP_SERVERS", raising=False)
    assert settings_of().bootstrap_servers == (("localhost", 9092),)
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", "there:19092")
    assert settings_of().bootstrap_servers == (("there", 19092),)
    assert settings_of(bootstrap_servers="here:1").bootstrap_servers == (("here", 1),)


def test_names_that_mean_nothing_here_are_returned() -> None:
    """The caller knows whether to warn."""
    _, unknown = client_settings({"client.id": "x", "group.id": "g", "no.such.thing": "1"})
    assert unknown == ("group.id", "no.such.thing")


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("bootstrap.servers", "a:b", "no port from 1 to 65535"),
        ("bootstrap.servers", "a:0", "no port from 1 to 65535"),
        ("bootstrap.servers", " , ", "names no broker"),
        ("security.protocol", "TLS", "allowed are PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("sasl.mechanism", "GSSAPI", "allowed are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ("request.timeout.ms", "soon", "milliseconds from 1"),
        ("request.timeout.ms", "0", "milliseconds from 1"),
        ("ssl.endpoint.identification.algorithm", "dns", "allowed are https"),
        ("enable.ssl.certificate.verification", "no", "true and false"),
        ("ssl.truststore.location", "trust.jks", "only PEM files"),
        ("ssl.keystore.type", "JKS", "only PEM files"),
        ("ssl.key.location", "key.pem", "needs ssl.certificate.location"),
        ("security.protocol", "SASL_SSL", "needs credentials"),
        ("sasl.jaas.config", "nonsense", "cannot be read"),
        ("sasl.jaas.config", "a.PlainLoginModule required username=a ???;", "follows 1 of them"),
        ("sasl.jaas.config", "a.PlainLoginModule required username=a;", "needs username"),
        ("sasl.jaas.config", "a.Krb5LoginModule required;", "allowed are PlainLoginModule"),
    ],
)
def test_bad_values_are_named(name: str, value: str, complaint: str) -> None:
    """Key, value and what is allowed."""
    with pytest.raises(ConfigError, match=complaint) as caught:
        client_settings({name: value})
    assert name in str(caught.value)


def test_a_password_is_not_repeated_in_a_complaint() -> None:
    """A line that cannot be read may hold one."""
    with pytest.raises(ConfigError) as caught:
        settings_of(sasl_jaas_config='PlainLoginModule username="a" password="hidden"')
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("name", ["ssl.ca.location", "ssl.certificate.location"])
def test_a_file_that_is_not_there_is_named(name: str) -> None:
    """Before any connection is tried."""
    settings, _ = client_settings({"security.protocol": "SSL", name: "no-such-file.pem"})
    with pytest.raises(ConfigError, match=f"{name}='no-such-file.pem'"):
        tls_context(settings)
