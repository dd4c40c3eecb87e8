"""Three brokers on one host, from three server.properties.

    python -m examples.cluster.three_brokers

Each broker has its id, its port and its folder; all have the same zookeeper.connect. A topic with
13 partitions and three replicas of each is made and described, three consumers of one group share
its messages, three without a common group read all of them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from examples.cluster.lab import (
    LabFailed,
    Reader,
    await_all_in_sync,
    read_until,
    say,
    shell,
    write,
)
from headrace.coordination.zookeeper.server import ZooKeeperServer, free_port

TOPIC: Final = "my-failsafe-topic"
PARTITIONS: Final = 13
MESSAGES: Final = [f"m{number}" for number in range(1, 8)]
_HOST: Final = "127.0.0.1"
_STOP_TIMEOUT_S: Final = 60


def server_properties(broker_id: int, port: int, folder: Path, zookeeper: str) -> str:
    """What is different for each broker, and what they share."""
    return "\n".join(
        [
            f"broker.id={broker_id}",
            f"listeners=PLAINTEXT://{_HOST}:{port}",
            f"log.dirs={folder}",
            f"zookeeper.connect={zookeeper}",
            "offsets.topic.replication.factor=3",
            "offsets.topic.num.partitions=5",
            "group.initial.rebalance.delay.ms=0",
            "",
        ]
    )


class RunningBroker:
    """`headrace up --only broker --config FILE`, until `stop`."""

    def __init__(self, config: Path) -> None:
        words = ["up", "--only", "broker", "--config", str(config)]
        print(f"$ headrace {' '.join(words)} &", flush=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headrace", *words], stdout=subprocess.PIPE, text=True
        )

    def await_ready(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if "ready" not in line:
            self._process.kill()
            raise LabFailed("a broker did not start")
        print(line, end="", flush=True)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.communicate(timeout=_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headrace-lab-") as name, ExitStack() as stack:
        folder = Path(name)
        say("Start ZooKeeper first, then the brokers")
        zookeeper = ZooKeeperServer(folder / "zookeeper", ends_with_starter=True)
        zookeeper.start()
        stack.callback(zookeeper.stop)
        print(f"zookeeper ready on {zookeeper.connect_string}")
        ports = [free_port(_HOST) for _ in range(3)]
        brokers = []
        for broker_id, port in enumerate(ports):
            config = folder / f"server-{broker_id}.properties"
            data = folder / f"kafka-{broker_id}"
            config.write_text(server_properties(broker_id, port, data, zookeeper.connect_string))
            brokers.append(RunningBroker(config))
            stack.callback(brokers[-1].stop)
        for broker in brokers:
            broker.await_ready()
        shell("zookeeper-shell", zookeeper.connect_string, "ls", "/brokers/ids")
        use(",".join(f"{_HOST}:{port}" for port in ports))
        say("Each broker has a folder for each replica that it holds")
        for broker_id in range(3):
            held = sorted(path.name for path in (folder / f"kafka-{broker_id}").glob(f"{TOPIC}-*"))
            print(f"kafka-{broker_id}: {len(held)} folders, {', '.join(held[:3])} …")
        say("Done: the brokers leave one after the other, ZooKeeper last")


def use(servers: str) -> None:
    """Create, describe, and read in both ways."""
    say(f"A topic with {PARTITIONS} partitions, each on three brokers")
    where = ("--bootstrap-server", servers)
    numbers = ("--partitions", str(PARTITIONS), "--replication-factor", "3")
    shell("kafka-topics", *where, "--create", "--topic", TOPIC, *numbers)
    shell("kafka-topics", *where, "--list")
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)
    await_all_in_sync(servers, TOPIC)

    say('Three consumers of the group "mygroup": they share the partitions, nothing is read twice')
    group = [Reader(servers, TOPIC, "mygroup") for _ in range(3)]
    read_until(group, "each has partitions", lambda: all(each.partitions for each in group))
    write(servers, TOPIC, MESSAGES)
    _read(group, "all are read", lambda: sum(len(each.values) for each in group) >= 7)
    if sorted(value for each in group for value in each.values) != MESSAGES:
        raise LabFailed(f"the group got {[each.values for each in group]}")

    say("Three consumers without a common group: each gets every message")
    alone = [Reader(servers, TOPIC, f"console-{number}") for number in range(3)]
    _read(alone, "all get all", lambda: all(len(each.values) >= 7 for each in alone))
    for reader in alone:
        if sorted(reader.values) != MESSAGES:
            raise LabFailed(f"a consumer got {sorted(reader.values)}")


def _read(readers: list[Reader], what: str, done: Callable[[], bool]) -> None:
    read_until(readers, what, done)
    for number, reader in enumerate(readers, 1):
        print(f"consumer {number}: {' '.join(sorted(reader.values))}")
        reader.close()


if __name__ == "__main__":
    main()
