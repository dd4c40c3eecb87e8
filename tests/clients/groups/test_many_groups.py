"""A broker of very many groups: what they cost, and how soon they are back after a restart."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.header import encode_request
from headrace.wire.messages.list_groups import ListGroupsRequest
from tests.clients.contract import eventually
from tests.clients.groups.raw_members import commit_request, committed, find_coordinator
from tests.clients.raw import Connection
from tests.clients.requests import create_topic

GROUPS = 50_000
AT_ONCE = 1_000
COMMIT_VERSION = 2
MOST_BYTES_PER_GROUP = 4_000
LOADED_WITHIN_SECONDS = 40


def resident_bytes(pid: int) -> int:
    (line,) = (
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS:")
    )
    return int(line.split()[1]) * 1024


def commit_all(connection: Connection) -> None:
    """One commit per group, many under way at a time; all of them must succeed."""
    request = commit_request("group-@@@@@@", "t", 7)
    before, after = b"".join(encode_request(1, "raw", COMMIT_VERSION, request)).split(b"@@@@@@")
    answers = set()
    for first in range(0, GROUPS, AT_ONCE):
        numbers = range(first, first + AT_ONCE)
        connection.send_bytes(b"".join(b"%b%06d%b" % (before, each, after) for each in numbers))
        answers |= {connection.receive_frame() for _ in numbers}
    (answer,) = answers
    assert answer.endswith(Error.NONE.to_bytes(2, "big"))


@pytest.mark.slow
def test_fifty_thousand_groups() -> None:
    """A bounded price in memory for each, and all of them are there after a restart."""
    with Broker() as broker:
        with Connection(broker.bootstrap_servers) as connection:
            create_topic(connection, "t")
            find_coordinator(connection, "any")
            before = resident_bytes(broker.pid)
            commit_all(connection)
        assert resident_bytes(broker.pid) - before < GROUPS * MOST_BYTES_PER_GROUP
        began = time.monotonic()
        broker.restart()
        with Connection(broker.bootstrap_servers) as connection:

            def loaded() -> bool:
                return bool(connection.ask(ListGroupsRequest(), 5).error_code == Error.NONE)

            eventually(loaded, "all partitions of the offsets topic")
            assert time.monotonic() - began < LOADED_WITHIN_SECONDS
            listed = connection.ask(ListGroupsRequest(), 5).groups
            assert {each.group_id for each in listed} == {
                f"group-{number:06d}" for number in range(GROUPS)
            }
            for number in (0, 12_345, GROUPS - 1):
                assert committed(connection, f"group-{number:06d}", "t").committed_offset == 7
        assert resident_bytes(broker.pid) - before < GROUPS * MOST_BYTES_PER_GROUP
