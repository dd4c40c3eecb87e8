"""The stages of the labs, and how a lab says what it promises and finds it kept.

`on_broker`, `on_cluster` and `on_platform` each set up a stage, tell one story on it, and take it
down; the runner of all labs uses the same stages for many stories. A promise that is not kept ends
a lab with exit code 1.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, Final, NoReturn

from examples.cluster.lab import PATIENCE_S, LabFailed, say
from headrace.testing import Broker, Cluster

_HTTP_READY: Final = re.compile(r"ready \S+ http://(\S+)")
_START_TIMEOUT_S: Final = 60.0
_PAUSE_S: Final = 0.02

BROKER_PROPERTIES: Final[Mapping[str, object]] = {
    "broker.id": 0,
    # A group is complete when its members are here: nobody waits for more to come.
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    # The cleaner looks for work ten times in a second, and not every fifteen.
    "log.cleaner.backoff.ms": 100,
    # So does the one who deletes what is too old, or was deleted by hand.
    "log.retention.check.interval.ms": 100,
}
CLUSTER_PROPERTIES: Final[Mapping[str, object]] = {
    "auto.leader.rebalance.enable": "false",
    "replica.lag.time.max.ms": 1500,
}
# Longer than the lag that drops a follower from the ISR: one that is slow is not yet dead.
CLUSTER_SESSION_TIMEOUT_MS: Final = 6_000


# -- promises -------------------------------------------------------------------------------------


def check(kept: bool, promise: str) -> None:
    """Go on if the promise is kept."""
    if not kept:
        raise LabFailed(f"this is not so: {promise}")
    print(f"  ✓ {promise}", flush=True)


def expect(found: object, wanted: object, promise: str) -> None:
    """Go on if what was found is what was wanted."""
    if found != wanted:
        raise LabFailed(f"{promise}: found {found!r}, wanted {wanted!r}")
    print(f"  ✓ {promise}", flush=True)


def await_so(condition: Callable[[], bool], promise: str, timeout_s: float = PATIENCE_S) -> None:
    """Go on as soon as it is so."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise LabFailed(f"this did not come about in {timeout_s:.0f} s: {promise}")
        time.sleep(_PAUSE_S)
    print(f"  ✓ {promise}", flush=True)


# -- stages ---------------------------------------------------------------------------------------


@contextmanager
def broker_stage() -> Iterator[Broker]:
    """One broker with an empty disk."""
    say("A broker of our own")
    with Broker(BROKER_PROPERTIES) as broker:
        print(f"broker ready on {broker.bootstrap_servers}")
        yield broker


@contextmanager
def cluster_stage(**given: Any) -> Iterator[Cluster]:
    """ZooKeeper and three brokers, 0, 1 and 2."""
    say("ZooKeeper first, then three brokers")
    with Cluster(
        3, CLUSTER_PROPERTIES, session_timeout_ms=CLUSTER_SESSION_TIMEOUT_MS, **given
    ) as cluster:
        for broker in cluster.brokers:
            print(f"broker {broker.id} ready on {broker.bootstrap_servers}")
        yield cluster


@dataclass(frozen=True)
class Platform:
    """A broker and the HTTP services around it."""

    broker: Broker
    registry: str
    rest: str

    @property
    def bootstrap_servers(self) -> str:
        return self.broker.bootstrap_servers

    @property
    def registry_url(self) -> str:
        return f"http://{self.registry}"


@contextmanager
def platform_stage(on: Broker | None = None) -> Iterator[Platform]:
    """The Schema Registry and the REST Proxy, on a broker that runs or on one of their own."""
    if on is None:
        with broker_stage() as broker, platform_stage(broker) as platform:
            yield platform
        return
    say("The Schema Registry and the REST Proxy beside it")
    store = {"kafkastore.bootstrap.servers": on.bootstrap_servers}
    with _http_service("registry", {**store, "host.name": "127.0.0.1"}) as registry:
        proxied = {
            "bootstrap.servers": on.bootstrap_servers,
            "schema.registry.url": f"http://{registry}",
            "peer.discovery": "none",
        }
        with _http_service("rest", proxied) as rest:
            yield Platform(on, registry, rest)


@contextmanager
def _http_service(name: str, properties: Mapping[str, str]) -> Iterator[str]:
    """A service as a process of its own; its host and port."""
    settings = {"listeners": "http://127.0.0.1:0", **properties}
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    process = subprocess.Popen(
        [sys.executable, "-m", f"headrace.{name}", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    address: list[str] = []
    answered = threading.Event()

    def listen() -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if match := _HTTP_READY.match(line):
                    address.append(match[1])
                    answered.set()
        answered.set()

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        answered.wait(_START_TIMEOUT_S)
        if not address:
            raise LabFailed(f"the service {name} did not start")
        print(f"{name} ready on http://{address[0]}", flush=True)
        yield address[0]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        listener.join()


def alone(story: Callable[[], None]) -> NoReturn:
    """Tell a story that sets up its own stage, and end the program."""
    _perform(nullcontext, lambda _: story())


def on_broker(story: Callable[[Broker], None]) -> NoReturn:
    """Tell a story on an empty broker, and end the program."""
    _perform(broker_stage, story)


def on_cluster(story: Callable[[Cluster], None]) -> NoReturn:
    """The same on three brokers."""
    _perform(cluster_stage, story)


def on_platform(story: Callable[[Platform], None]) -> NoReturn:
    """The same on a broker with its HTTP services."""
    _perform(platform_stage, story)


def _perform(stage: Callable[[], Any], story: Callable[[Any], None]) -> NoReturn:
    if words := sys.argv[1:]:
        print(sys.modules["__main__"].__doc__)
        if words[0] in ("-h", "--help"):
            sys.exit(0)
        print(f"a lab takes no arguments: {' '.join(words)}", file=sys.stderr)
        sys.exit(2)
    try:
        with stage() as ready:
            story(ready)
    except LabFailed as failure:
        sys.exit(f"\nthe lab failed: {failure}")
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
    say("Everything was as promised")
    sys.exit(0)


# -- commands and requests ------------------------------------------------------------------------


def type_in(name: str, *words: str, lines: str = "") -> str:
    """Run a command that reads what is typed; returns what it printed."""
    print(f"$ {name} {' '.join(words)}", flush=True)
    if lines:
        print("\n".join(f"> {line}" for line in lines.splitlines()[:10]), flush=True)
    ended = subprocess.run(
        command(name, *words),
        input=lines,
        capture_output=True,
        text=True,
        timeout=_START_TIMEOUT_S,
        check=False,
    )
    if ended.returncode:
        raise LabFailed(f"{name} ended with {ended.returncode}: {ended.stderr}")
    shown = [*ended.stdout.splitlines()[:20], *ended.stderr.splitlines()]
    print("".join(f"{line}\n" for line in shown), end="", flush=True)
    return ended.stdout


def command(name: str, *words: str) -> list[str]:
    """An installed command as the words of a process of its own."""
    return [sys.executable, "-m", "headrace.cli.kafka_compat", name, *words]


def http(
    method: str,
    address: str,
    path: str,
    body: object = None,
    *,
    content_type: str = "application/json",
    accept: str | None = None,
) -> tuple[int, Any]:
    """One request, shown as it is sent; the status and the JSON of the answer."""
    print(f"$ curl -X {method} http://{address}{path}", end="", flush=True)
    headers = {"Accept": accept} if accept else {}
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = content_type
        print(f" -H 'Content-Type: {content_type}' -d '{data.decode()}'", end="")
    connection = HTTPConnection(address, timeout=_START_TIMEOUT_S)
    try:
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    print(f"\n{answer.status} {text[:300]}", flush=True)
    return answer.status, json.loads(text) if text else None
