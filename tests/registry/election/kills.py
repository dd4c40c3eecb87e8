"""Kills of the primary while clients register: ids stay unique, nothing acknowledged is lost.

    python -m tests.registry.election.kills [KILLS]

Three real processes share one topic. Clients register schemas of their own through all of them, the
primary is killed (SIGKILL) again and again and started anew, and at the end everything that was
acknowledged must be there under the id that was given. The time until a write succeeds again is
printed for each kill.
"""

from __future__ import annotations

import http.client
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field

from tests.registry.running import Answer, RunningRegistry, request, until

INSTANCES = 3
CLIENTS = 3
LONGEST_TAKE_OVER_S = 10.0


@dataclass
class History:
    """What clients were told, and when a write was last acknowledged."""

    acknowledged: dict[str, int] = field(default_factory=dict)
    last_success: float = 0.0
    failures: int = 0
    strange: list[Answer] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, name: str, schema_id: int) -> None:
        with self.lock:
            self.acknowledged[name] = schema_id
            self.last_success = time.monotonic()

    def fail(self, answer: Answer | None = None) -> None:
        with self.lock:
            self.failures += 1
            if answer is not None and answer.status < 500:
                self.strange.append(answer)


def schema(name: str) -> dict[str, str]:
    return {"schema": f'{{"type":"record","name":"{name}","fields":[]}}'}


def _register(
    instances: list[RunningRegistry], history: History, stopping: threading.Event, number: int
) -> None:
    """One client: a new schema each time, at the next instance each time."""
    count = 0
    while not stopping.is_set():
        name = f"c{number}_{count}"
        url = instances[(number + count) % len(instances)].url
        count += 1
        try:
            path = f"/subjects/{name}/versions"
            answer = request(url, "POST", path, schema(name), timeout_s=20)
        except (OSError, http.client.HTTPException):
            history.fail()
            time.sleep(0.02)
            continue
        if answer.status == 200 and answer.body is not None:
            history.note(name, answer.body["id"])
        else:
            history.fail(answer)


def run(bootstrap: str, kills: int) -> list[float]:
    """The times without a successful write, one for each kill; raises what is wrong."""
    name = uuid.uuid4().hex[:8]
    properties = {
        "kafkastore.topic": f"kills-{name}",
        "dek.registry.topic": f"kills-keys-{name}",
        "kafkastore.group.id": f"kills-{name}",
    }
    instances = [RunningRegistry(bootstrap, **properties).start() for _ in range(INSTANCES)]
    history, stopping = History(), threading.Event()
    clients = [
        threading.Thread(target=_register, args=(instances, history, stopping, number), daemon=True)
        for number in range(CLIENTS)
    ]
    try:
        until(lambda: _primary(instances) is not None)
        for client in clients:
            client.start()
        outages = [_kill_once(instances, history) for _ in range(kills)]
        stopping.set()
        for client in clients:
            client.join(30)
        _check(instances, history)
    finally:
        stopping.set()
        for instance in instances:
            instance.kill()
    return outages


def _primary(instances: list[RunningRegistry]) -> int | None:
    for position, instance in enumerate(instances):
        if instance.call("GET", "/healthz").body["primary"]:
            return position
    return None


def _kill_once(instances: list[RunningRegistry], history: History) -> float:
    """Kill the primary amid writes; returns how long it took until one succeeded again."""
    before = len(history.acknowledged)
    until(lambda: len(history.acknowledged) > before + 20, 30)
    position = _primary(instances)
    assert position is not None, "writes succeed without a primary"
    instances[position].kill()
    killed = time.monotonic()
    until(lambda: history.last_success > killed + 0.05, 30)
    outage = history.last_success - killed
    instances[position].start()
    until(lambda: _primary(instances) is not None, 30)
    return outage


def _check(instances: list[RunningRegistry], history: History) -> None:
    acknowledged = history.acknowledged
    assert not history.strange, "a good request was refused"
    assert len(set(acknowledged.values())) == len(acknowledged), "an id was given out twice"
    for name, schema_id in acknowledged.items():
        found = instances[0].call("GET", f"/schemas/ids/{schema_id}")
        assert found.status == 200, f"{name} was acknowledged as {schema_id} and is lost"
        assert found.body["schema"] == schema(name)["schema"]
    lists = []
    for instance in instances:
        until(lambda instance=instance: len(_subjects(instance)) >= len(acknowledged), 10)  # type: ignore[misc]
        lists.append(_subjects(instance))
    assert lists[0] == lists[1] == lists[2], "the instances do not agree"
    assert set(lists[0]) >= set(acknowledged)


def _subjects(instance: RunningRegistry) -> list[str]:
    found: list[str] = instance.call("GET", "/subjects").body
    return found


def main() -> int:
    """Run with a broker of its own."""
    from headrace.testing import Broker

    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        outages = run(broker.bootstrap_servers, kills)
    for number, outage in enumerate(outages, start=1):
        sys.stdout.write(f"kill {number}: writes go on after {outage:.1f} s\n")
    sys.stdout.write(f"slowest {max(outages):.1f} s; ids unique, nothing lost\n")
    return 0 if max(outages) < LONGEST_TAKE_OVER_S else 1


if __name__ == "__main__":
    sys.exit(main())
