"""Server-sent events."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from headrace.rest.live import access
from tests.rest.live.writing import write
from tests.rest.v3.raw_http import RawRequest
from tests.rest.v3.running_proxy import RunningProxy, eventually


class Events(RawRequest):
    """An EventSource by hand."""

    def __init__(self, proxy: RunningProxy, path: str, last_event_id: str | None = None) -> None:
        extra = [] if last_event_id is None else [f"Last-Event-ID: {last_event_id}"]
        super().__init__(proxy.port, "GET", path, "Accept: text/event-stream", *extra)
        self.status, self.headers = self.head()

    def next(self) -> dict[str, Any]:
        """The next event as its fields; a comment has none but itself."""
        lines = self.until(b"\n\n").decode().strip().split("\n")
        if lines[0].startswith(":"):
            return {"comment": lines[0][1:].strip()}
        fields: dict[str, Any] = dict(line.split(": ", 1) for line in lines)
        if "data" in fields:
            fields["data"] = json.loads(fields["data"])
        return fields

    def record(self) -> dict[str, Any]:
        """The next event that is a record."""
        while (event := self.next()).get("event") != "record":
            assert "error" not in event.get("event", ""), event
        return event


@pytest.fixture
def path(cluster: str, topic: str) -> str:
    return f"{cluster}/topics/{topic}/records:events"


def test_events(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """Records come as events with an id and a name; new ones follow while the client listens."""
    write(proxy, cluster, topic, "old")
    with Events(proxy, f"{path}?from=earliest") as events:
        assert events.status == 200
        assert events.headers["content-type"].startswith("text/event-stream")
        assert events.headers["cache-control"] == "no-cache"
        assert events.next() == {"retry": "3000"}
        first = events.record()
        assert (first["event"], first["id"]) == ("record", "0:0")
        assert first["data"]["value"] == {"type": "JSON", "data": "old"}
        write(proxy, cluster, topic, "new")
        second = events.record()
        assert (second["id"], second["data"]["value"]["data"]) == ("0:1", "new")


def test_resume(proxy: RunningProxy, cluster: str, new_topic: Callable[..., str]) -> None:
    """Last-Event-ID goes on behind the last event, in every partition; the ids go on too."""
    topic = new_topic(partitions=2)
    path = f"{cluster}/topics/{topic}/records:events?from=earliest"
    for partition in (0, 1):
        write(proxy, cluster, topic, *range(3), partition_id=partition)
    seen: list[tuple[int, int]] = []
    last: str | None = None
    for _ in range(6):
        with Events(proxy, f"{path}&max_records=1", last) as events:
            event = events.record()
            seen.append((event["data"]["partition_id"], event["data"]["offset"]))
            last = event["id"]
            assert events.chunk() == b""
    assert sorted(seen) == [(partition, offset) for partition in (0, 1) for offset in range(3)]
    assert last == "0:2,1:2"


def test_from(proxy: RunningProxy, cluster: str, new_topic: Callable[..., str]) -> None:
    """Positions, a time, some partitions only; latest sees only what is new."""
    topic = new_topic(partitions=2)
    path = f"{cluster}/topics/{topic}/records:events"
    for number in range(3):
        write(proxy, cluster, topic, number, timestamp=1000 * (number + 1))
    write(proxy, cluster, topic, "other", partition_id=1)
    for query, expected in (
        ("from=0:2&partitions=0", 2),
        ("from=@1500&partitions=0", 1),
        ("from=1970-01-01T00:00:03Z&partitions=0", 2),
        ("from=earliest&partitions=1", "other"),
    ):
        with Events(proxy, f"{path}?{query}") as events:
            assert events.record()["data"]["value"]["data"] == expected
    with Events(proxy, f"{path}?keep_alive_ms=300") as events:
        while events.next().get("comment") != "keep-alive":
            continue
        write(proxy, cluster, topic, "new")
        assert events.record()["data"]["value"]["data"] == "new"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("from=somewhere", 400),
        ("from=0:x", 400),
        ("from=2020-99-01T00:00:00Z", 400),
        ("partitions=7", 404),
        ("group=g&from=0:1", 400),
        ("group=g&partitions=0", 400),
        ("group=", 400),
        ("group=%20", 400),
        ("group=%00g", 400),
        ("format=XML", 400),
        ("isolation_level=x", 400),
        ("max_records=0", 400),
        ("keep_alive_ms=1", 400),
    ],
)
def test_refused(proxy: RunningProxy, path: str, query: str, status: int) -> None:
    """What cannot be followed is refused with a plain answer before any event."""
    answer = proxy.ask("GET", f"{path}?{query}")
    assert (answer.status, answer.body["error_code"]) == (status, status)


def test_head(proxy: RunningProxy, path: str) -> None:
    """HEAD has the type of the stream and opens none."""
    answer = proxy.ask("HEAD", path)
    assert (answer.status, answer.body) == (200, None)
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_two_in_a_group(proxy: RunningProxy, cluster: str, new_topic: Callable[..., str]) -> None:
    """Two readers of one group share the partitions; when one goes the other has them all."""
    topic, group = new_topic(partitions=2), f"two-{uuid.uuid4().hex[:8]}"
    path = f"{cluster}/topics/{topic}/records:events?group={group}&from=earliest"
    consumers = f"{cluster}/consumer-groups/{group}/consumers"

    def assigned() -> list[int]:
        answer = proxy.ask("GET", consumers)
        members = answer.body["data"] if answer.status == 200 else []
        links = [each["assignments"]["related"].removeprefix(proxy.url) for each in members]
        shares = [proxy.ask("GET", link) for link in links]
        # A member may leave between the two questions.
        return sorted(len(each.body["data"]) for each in shares if each.status == 200)

    with Events(proxy, path) as first:
        with Events(proxy, path):
            eventually(lambda: assigned() == [1, 1])
        eventually(lambda: assigned() == [2])
        for partition in (0, 1):
            write(proxy, cluster, topic, partition, partition_id=partition)
        assert {first.record()["data"]["partition_id"] for _ in range(2)} == {0, 1}


def test_resume_in_a_group(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """Last-Event-ID brings back what was committed when it was sent but never arrived."""
    write(proxy, cluster, topic, *range(4))
    query = f"{path}?group=back-{uuid.uuid4().hex[:8]}&from=earliest&max_records=3"
    with Events(proxy, query) as events:
        assert [events.record()["data"]["offset"] for _ in range(3)] == [0, 1, 2]
    eventually(lambda: not proxy.service.sessions)
    with Events(proxy, query, "0:0") as events:
        assert [events.record()["data"]["offset"] for _ in range(3)] == [1, 2, 3]


def test_unknown_topic(proxy: RunningProxy, cluster: str) -> None:
    """A topic that does not exist is 40403, and a broken Last-Event-ID 400."""
    answer = proxy.ask("GET", f"{cluster}/topics/nothing/records:events")
    assert (answer.status, answer.body["error_code"]) == (404, 40403)
    headers = {"last-event-id": "not an id"}
    answer = proxy.ask("GET", f"{cluster}/topics/nothing/records:events", headers=headers)
    assert (answer.status, answer.body["error_code"]) == (400, 400)


def test_in_a_group(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """What was sent is committed: the next reader of the group goes on, and lag tools see it."""
    group = f"sse-{uuid.uuid4().hex[:8]}"
    write(proxy, cluster, topic, 0, 1, 2)
    query = f"{path}?group={group}&from=earliest&max_records=2"
    with Events(proxy, query) as events:
        assert [events.record()["data"]["offset"] for _ in range(2)] == [0, 1]

    def lag() -> Any:
        answer = proxy.ask("GET", f"{cluster}/consumer-groups/{group}/lags/{topic}/partitions/0")
        return answer.status == 200 and answer.body["current_offset"] == 2

    eventually(lag)
    with Events(proxy, query) as events:
        assert events.record()["data"]["offset"] == 2


def test_a_slow_reader(proxy: RunningProxy, cluster: str, topic: str, path: str) -> None:
    """A reader that takes nothing holds back the stream, not the memory, and loses nothing."""
    count, value = 400, "x" * 50_000
    for _ in range(count // 40):
        write(proxy, cluster, topic, *[value] * 40)
    with Events(proxy, f"{path}?from=earliest&max_records={count}") as events:
        session = next(iter(proxy.service.sessions))
        # The kernel's buffers are full by then, and what is wanted has been delivered or waits.
        eventually(lambda: session._is_paused)
        assert session.events.qsize() <= 1
        offsets = [events.record()["data"]["offset"] for _ in range(count)]
    assert offsets == list(range(count))


def test_a_reader_that_goes_away(proxy: RunningProxy, path: str) -> None:
    """When the client has gone its consumer, thread and place among the sessions are released."""
    with Events(proxy, f"{path}?group=gone-{uuid.uuid4().hex[:8]}") as events:
        assert events.next() == {"retry": "3000"}
        session = next(iter(proxy.service.sessions))
    assert session.has_ended.wait(10)
    eventually(lambda: not proxy.service.sessions)


def test_too_many_readers(proxy: RunningProxy, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions are counted; one too many is told to come back later."""
    eventually(lambda: not proxy.service.sessions)
    monkeypatch.setattr(access, "MAX_SESSIONS", 1)
    with Events(proxy, path):
        answer = proxy.ask("GET", path)
        assert (answer.status, answer.body["error_code"]) == (429, 42901)
