"""The command line of `kafka-configs`, without a broker."""

from __future__ import annotations

import pytest

from headrace.admin.credentials import Password
from headrace.cli.kafka_compat import configs
from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.config_entities import Entities, read_entities
from headrace.cli.kafka_compat.config_values import added, deleted, java_double, passwords
from headrace.cli.kafka_compat.flags import Given, parse
from tests.cli.kafka_compat.conftest import Tool


def given(*words: str) -> Given:
    return parse(list(words), configs.run.flags)


@pytest.mark.spec("admin:CL-07")
def test_brackets_hold_commas_and_equals_signs() -> None:
    """As a password of SCRAM has them; outside of brackets they separate."""
    text = "SCRAM-SHA-256=[password=p],SCRAM-SHA-512=[iterations=8192,password=a=b],x = 1"
    values = added(given("--add-config", text))
    assert values == {
        "SCRAM-SHA-256": "password=p",
        "SCRAM-SHA-512": "iterations=8192,password=a=b",
        "x": "1",
    }
    assert passwords(values) == {
        "SCRAM-SHA-256": Password("p", 4096),
        "SCRAM-SHA-512": Password("a=b", 8192),
    }
    assert added(given("--add-config=a=[1,2],b=")) == {"a": "1,2", "b": ""}
    assert deleted(given("--delete-config", "a, b", "--delete-config", "c")) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a", "must be in the format"),
        ("a=1=2", "must be in the format"),
        ("a b=1", "Invalid character found for config key: a b"),
        ("SCRAM-SHA-256=[secret=p]", "Invalid credential property SCRAM-SHA-256=secret=p"),
        ("SCRAM-SHA-256=[iterations=9,password=p]", "less than the minimum 4096 required"),
    ],
)
def test_values_that_make_no_sense_are_refused(text: str, complaint: str) -> None:
    """In the words that Kafka has for them."""
    with pytest.raises(Told, match=complaint):
        passwords(added(given("--add-config", text)))


def test_entities_are_named_in_two_ways() -> None:
    """By type and name, or by a flag for both; the empty name is the default."""
    old = given(
        *("--alter", "--entity-type", "clients", "--entity-default"),
        *("--entity-type", "users", "--entity-name", "u"),
    )
    assert read_entities(old) == Entities(("clients", "users"), ("", "u"))
    assert read_entities(given("--describe", "--user", "u", "--client-defaults")) == Entities(
        ("users", "clients"), ("u", "")
    )
    assert read_entities(given("--describe", "--entity-type", "ips")) == Entities(("ips",), ())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--describe --topic t --topic u --broker 1", "Only 'users' and 'clients'"),
        ("--describe --entity-type topics --entity-type topics", "Duplicate entity type"),
        ("--alter --entity-type users", "An entity-name or default entity must be specified"),
        ("--alter --entity-type users --entity-type clients --entity-name u", "for every entity"),
        ("--alter --entity-type groups", "An entity name must be specified with --alter of groups"),
        ("--describe --ip not..an..address", "must be a valid IP or resolvable host"),
    ],
)
def test_what_does_not_go_together_is_refused(words: str, complaint: str) -> None:
    """Before a broker is asked."""
    with pytest.raises(Told, match=complaint):
        read_entities(given(*words.split()))


def test_numbers_are_written_as_java_does() -> None:
    """Limits are doubles, and Kafka's tool prints them as such."""
    numbers = [0.0, 50.0, 1024.0, 0.5, 9999999.0, 1e7, 12345678.0, 1.5e10, 0.0005]
    assert list(map(java_double, numbers)) == [
        *("0.0", "50.0", "1024.0", "0.5", "9999999.0", "1.0E7", "1.2345678E7", "1.5E10", "5.0E-4")
    ]


def test_a_controller_is_no_broker(tool: Tool) -> None:
    """There are none to ask here, and that is said."""
    words = ["--bootstrap-controller", "127.0.0.1:1", "--describe", "--topic", "t"]
    refused = tool(configs.run, *words)
    assert (refused.code, refused.out) == (1, "")
    assert "give --bootstrap-server" in refused.err
