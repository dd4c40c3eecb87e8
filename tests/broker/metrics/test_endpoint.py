"""The HTTP responder of the metrics: what it serves, and what it refuses."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys

import pytest

from headrace.broker.metrics.catalogue import METRICS
from headrace.testing import Broker, BrokerFailed
from tests.broker.metrics.scraping import parse, scrape


def exchange(broker: Broker, request: bytes, answers: int = 1) -> tuple[list[bytes], bool]:
    """Send bytes, read so many answers; also whether the connection stays open."""
    host, _, port = broker.metrics_url.split("/")[2].rpartition(":")
    with socket.create_connection((host, int(port)), 10) as sock:
        sock.sendall(request)
        file = sock.makefile("rb")
        found = []
        for _ in range(answers):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = file.readline()
                assert line, "the connection was closed in the middle of an answer"
                head += line
            size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            is_bare = request.startswith(b"HEAD")
            found.append(head + (b"" if is_bare else file.read(size)))
        sock.settimeout(0.2)
        try:
            stays = bool(sock.recv(1))
        except TimeoutError:
            stays = True
        return found, stays


@pytest.mark.spec("slides:M06", "admin:MO-07")
def test_everything_declared_is_well_formed(broker: Broker) -> None:
    """The whole page passes a strict reader, with the declared types and nothing undeclared."""
    scraped = scrape(broker.metrics_url)
    declared = {metric.name: metric.type.value for metric in METRICS}
    assert scraped.types.items() <= declared.items()
    assert len(scraped.types) > 80


def test_several_requests_on_one_connection(broker: Broker) -> None:
    """HTTP/1.1 keeps the connection, also where requests come in one piece."""
    request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answers, stays = exchange(broker, request * 2, answers=2)
    assert stays
    for answer in answers:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert parse(body.decode()).has("process_cpu_seconds_total")


@pytest.mark.parametrize(
    ("request_bytes", "status", "stays"),
    [
        (b"GET /metrics?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"200", True),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"200", True),
        (b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"200", True),
        (b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n", b"200", False),
        (b"GET /metrics HTTP/1.0\r\n\r\n", b"200", False),
        (b"GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n", b"404", False),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example:9404\r\n\r\n", b"421", False),
        (b"GET /metrics HTTP/1.1\r\nOrigin: https://evil.example\r\n\r\n", b"403", False),
        (b"GET /metrics HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\n\r\n", b"403", False),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", b"405", False),
        (b"GET /metrics HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", b"400", False),
        (b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"400", False),
        (b"what is this\r\n\r\n", b"400", False),
        (b"\x00\xff\x00\r\n\r\n", b"400", False),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", b"431", False),
    ],
    ids=lambda value: value[:24].decode("latin-1") if isinstance(value, bytes) else str(value),
)
def test_what_is_served_and_what_is_refused(
    broker: Broker, request_bytes: bytes, status: bytes, stays: bool
) -> None:
    """One path, two methods, no bodies, no long headers, no pages of other sites."""
    (answer,), stayed = exchange(broker, request_bytes)
    assert answer.split(b" ")[1] == status
    assert stayed is stays


def test_silent_connections_do_not_keep_others_out(broker: Broker) -> None:
    """Twenty connections that say nothing, and a scrape is answered all the same."""
    host, _, port = broker.metrics_url.split("/")[2].rpartition(":")
    idle = [socket.create_connection((host, int(port)), 10) for _ in range(20)]
    try:
        assert scrape(broker.metrics_url).has("process_open_fds")
    finally:
        for each in idle:
            each.close()


def test_off_listens_nowhere() -> None:
    """Without a listener there is no address to ask, and no request is timed."""
    with Broker() as broker:
        assert "metrics ready" not in broker.output
        listening = subprocess.run(
            [sys.executable, "-c", _LISTENING, str(broker.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert listening.stdout.split() == [str(broker.port)]


@pytest.mark.spec("admin:MO-11")
def test_as_many_files_as_the_system_allows() -> None:
    """A broker raises its own soft limit to the hard one, and tells how many it uses."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
    try:
        with Broker(metrics=True) as broker:
            now = scrape(broker.metrics_url)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert now.value("process_max_fds") == hard
    assert 0 < now.value("process_open_fds") < 200


_LISTENING = """
import os, sys
folder = f"/proc/{sys.argv[1]}/fd"
links = {os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}
sockets = {link[8:-1] for link in links if link.startswith("socket:[")}
for line in open("/proc/net/tcp").readlines()[1:]:
    words = line.split()
    if words[3] == "0A" and words[9] in sockets:
        print(int(words[1].partition(":")[2], 16))
"""


def test_a_taken_address_is_told(broker: Broker) -> None:
    """Whoever asks for an address that is taken is told which setting to change."""
    taken = broker.metrics_url.split("/")[2]
    with pytest.raises(BrokerFailed, match=r"metrics\.listener"):
        Broker({"metrics.listener": taken}).start()
