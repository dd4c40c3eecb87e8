"""Requests past librdkafka: what they refuse, and how errors read."""

from __future__ import annotations

import pytest

from headrace.cli.direct import Brokers, Keeper, fault_of, open_brokers, raise_for
from headrace.cli.failures import Failure
from headrace.cli.target import parse_target
from headrace.errors import Error
from headrace.testing import Broker


def test_an_error_has_a_cause_and_a_remedy() -> None:
    """In words; the broker's own if it sent some; a code from the future is shown as it is."""
    assert str(fault_of(Error.NON_EMPTY_GROUP, 'group "g"')) == (
        'group "g": non empty group; stop its members first'
    )
    assert "told so" in str(fault_of(Error.INVALID_REQUEST, "x", "told so."))
    assert "INVALID_REQUEST" in str(fault_of(Error.INVALID_REQUEST, "x"))
    assert "unknown error 9999" in str(fault_of(9999, "x"))
    raise_for(0, "x")


def test_sasl_is_refused_with_words() -> None:
    """Before anything is sent."""
    target = parse_target("127.0.0.1:1", ["security.protocol=SASL_SSL"])
    with pytest.raises(Failure, match="SASL"), open_brokers(target):
        pass


@pytest.mark.parametrize(
    "setting", ["ssl.ca.location=/nowhere.pem", "ssl.certificate.location=/nowhere.pem"]
)
def test_certificates_that_are_not_there_are_named(setting: str) -> None:
    """Before a connection is tried."""
    target = parse_target("127.0.0.1:1", ["security.protocol=SSL", setting])
    with pytest.raises(Failure, match=r"certificates cannot be used \(.*No such file"):
        Brokers(target)


def test_topics_and_leaders_are_found(headrace_broker: Broker) -> None:
    """A topic or partition that is not there is a failure that says so."""
    with open_brokers(parse_target(headrace_broker.bootstrap_servers, [])) as brokers:
        assert len(brokers.ids) == 1
        with pytest.raises(Failure, match="headrace topic list"):
            brokers.find_leader("no-such-topic", 0)
        assert "no-such-topic" not in brokers.topics()


def test_a_coordinator_is_found(headrace_broker: Broker) -> None:
    """Of a group and of a transactional id."""
    with open_brokers(parse_target(headrace_broker.bootstrap_servers, [])) as brokers:
        for keeper in Keeper:
            assert brokers.find_coordinator(keeper, "anything") in brokers.ids
