"""DescribeUserScramCredentials: nobody has any yet, and a tool that asks is told so (KIP-554)."""

from __future__ import annotations

from headrace.errors import Error
from headrace.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from tests.clients.raw import Connection


def test_who_has_none_is_not_found(connection: Connection) -> None:
    """One error for each user; all of them together are none."""
    names = [UserName(name=each) for each in ("alice", "bob", "bob")]
    response = connection.ask(DescribeUserScramCredentialsRequest(users=names), 0)
    assert response.error_code == 0
    assert [(each.user, each.error_code) for each in response.results] == [
        ("alice", Error.RESOURCE_NOT_FOUND),
        ("bob", Error.DUPLICATE_RESOURCE),
    ]
    assert connection.ask(DescribeUserScramCredentialsRequest(users=None), 0).results == []
