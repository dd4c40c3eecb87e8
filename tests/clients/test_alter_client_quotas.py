"""AlterClientQuotas against a live broker (KIP-546), as DescribeClientQuotas tells of it."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from tests.clients.contract import eventually
from tests.clients.quotas.requests import Entity, alter, describe, entry_of, limited_to
from tests.clients.raw import Connection


@pytest.mark.parametrize("version", range(2))
def test_quotas_are_set_told_and_removed(
    connection: Connection, topic_name: str, version: int
) -> None:
    """One key after the other, in both versions; without any the entity is gone."""
    entity: Entity = {"user": topic_name, "client-id": None}
    asked = ("user", 0, topic_name)
    key = (("client-id", None), ("user", topic_name))
    assert alter(connection, entity, {"producer_byte_rate": 1e6}, version=version).error_code == 0
    values: dict[str, float | None] = {"producer_byte_rate": 2e6, "request_percentage": 12.5}
    assert alter(connection, entity, values, version=version).error_code == 0
    eventually(lambda: describe(connection, asked, version=version) == {key: values}, "both quotas")
    gone = dict.fromkeys(values)
    assert alter(connection, entity, gone, version=version, validate_only=True).error_code == 0
    assert describe(connection, asked) == {key: values}
    assert alter(connection, entity, gone, version=version).error_code == 0
    eventually(lambda: describe(connection, asked) == {}, "no quota")
    assert alter(connection, entity, gone, version=version).error_code == 0


def test_the_tree_of_names_is_nothing_to_a_client(connection: Connection, topic_name: str) -> None:
    """Names with slashes, dots and the word of the default are names like others."""
    for name in (f"{topic_name}/clients/x", "<default>", "..", "CN=a b, O=ö+%2F", "\u0000\n"):
        with limited_to(connection, {"client-id": name}, consumer_byte_rate=1e9):
            found = describe(connection, ("client-id", 0, name))
            assert found == {(("client-id", name),): {"consumer_byte_rate": 1e9}}


@pytest.mark.parametrize(
    ("entity", "key", "value"),
    [
        ({}, "producer_byte_rate", 1.0),
        ({"user": ""}, "producer_byte_rate", 1.0),
        ({"group": "g"}, "producer_byte_rate", 1.0),
        ({"user": "u", "ip": "127.0.0.1"}, "producer_byte_rate", 1.0),
        ({"ip": "no.such.host.invalid"}, "connection_creation_rate", 1.0),
        ({"user": "u"}, "producer_byte_rate", 0.0),
        ({"user": "u"}, "producer_byte_rate", -5.0),
        ({"user": "u"}, "producer_byte_rate", 1.5),
        ({"user": "u"}, "connection_creation_rate", 5.0),
        ({"ip": "127.0.0.1"}, "producer_byte_rate", 5.0),
        ({"user": "u"}, "no_such_quota", 5.0),
    ],
)
def test_what_cannot_be_is_refused(
    connection: Connection, entity: Entity, key: str, value: float
) -> None:
    """INVALID_REQUEST, with a reason; nothing is written."""
    outcome = alter(connection, entity, {key: value})
    assert outcome.error_code == Error.INVALID_REQUEST
    assert outcome.error_message
    assert (("user", "u"),) not in describe(connection)


def test_a_number_that_is_none_is_refused(connection: Connection) -> None:
    """Neither NaN nor infinity becomes a quota; Kafka stores them, and throttles nobody."""
    for value in (float("nan"), float("inf"), float("-inf")):
        for key in ("request_percentage", "producer_byte_rate"):
            outcome = alter(connection, {"user": "nobody"}, {key: value})
            assert outcome.error_code == Error.INVALID_REQUEST


def test_entities_are_judged_one_by_one(connection: Connection, topic_name: str) -> None:
    """One is refused, the other is written; who occurs twice is refused twice."""
    good, twice = {"client-id": topic_name}, {"client-id": f"{topic_name}-2"}
    entries = [
        entry_of(good, {"producer_byte_rate": 1e9}),
        entry_of({"client-id": ""}, {"producer_byte_rate": 1e9}),
        entry_of(twice, {"producer_byte_rate": 1e9}),
        entry_of(twice, {"producer_byte_rate": 2e9}),
    ]
    response = connection.ask(AlterClientQuotasRequest(entries=entries, validate_only=False), 1)
    codes = [each.error_code for each in response.entries]
    refused = Error.INVALID_REQUEST
    assert codes == [0, refused, refused, refused]
    assert response.entries[0].entity[0].entity_name == topic_name
    eventually(lambda: bool(describe(connection, ("client-id", 0, topic_name))), "the good one")
    alter(connection, good, {"producer_byte_rate": None})
