"""How a command asks a cluster: what it needs for that, and how errors read."""

from __future__ import annotations

import pytest

from headrace.admin.faults import Refused, fault_in, raise_for
from headrace.admin.routing import coordinator_of, leader_of
from headrace.cli.asking import connect, explained, failure_of
from headrace.cli.failures import Failure
from headrace.cli.target import parse_target
from headrace.client.settings import client_settings
from headrace.client.tls import tls_context
from headrace.errors import ConfigError, Error
from headrace.testing import Broker
from headrace.types import TopicPartition


def test_an_error_has_a_cause_and_a_remedy() -> None:
    """In words; the broker's own if it sent some; a code from the future is an unknown error."""
    assert str(failure_of(Error.NON_EMPTY_GROUP, "", 'group "g"')) == (
        'group "g": non empty group; stop its members first'
    )
    assert "told so" in str(failure_of(Error.INVALID_REQUEST, "told so.", "x"))
    assert "INVALID_REQUEST" in str(failure_of(Error.INVALID_REQUEST, "", "x"))
    with pytest.raises(Refused, match="UNKNOWN_SERVER_ERROR"):
        raise_for(9999, None)
    raise_for(0, None)
    assert fault_in(0) is None


def test_a_sign_in_needs_a_user() -> None:
    """Named before anything is sent."""
    target = parse_target("127.0.0.1:1", ["security.protocol=SASL_SSL"])
    with pytest.raises(ConfigError, match=r"sasl\.username"):
        connect(target)


@pytest.mark.parametrize(
    "setting", ["ssl.ca.location=/nowhere.pem", "ssl.certificate.location=/nowhere.pem"]
)
def test_certificates_that_are_not_there_are_named(setting: str) -> None:
    """Before a connection is tried."""
    target = parse_target("127.0.0.1:1", ["security.protocol=SSL", setting])
    with pytest.raises(ConfigError, match=r"/nowhere\.pem"):
        tls_context(client_settings(target.properties)[0])


def test_topics_and_leaders_are_found(headrace_broker: Broker) -> None:
    """A topic or partition that is not there is a failure that says so."""
    nowhere = TopicPartition("no-such-topic", 0)
    with connect(parse_target(headrace_broker.bootstrap_servers, [])) as admin:
        assert len(admin.describe_cluster().ids) == 1
        with pytest.raises(Failure, match="headrace topic list"), explained(nowhere.topic):
            leader_of(admin, nowhere)
        assert nowhere.topic not in [topic.name for topic in admin.topics()]


@pytest.mark.parametrize("transactional", [False, True])
def test_a_coordinator_is_found(headrace_broker: Broker, transactional: bool) -> None:
    """Of a group and of a transactional id."""
    with connect(parse_target(headrace_broker.bootstrap_servers, [])) as admin:
        found = coordinator_of(admin, "anything", transactional=transactional)
        assert found[0] in admin.describe_cluster().ids
