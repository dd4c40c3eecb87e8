"""What ZooKeeper knows of the brokers, and how everybody hears of a change.

    python -m examples.labs.zookeeper_watch

Each broker has a node under /brokers/ids that goes when it goes; the controller is whoever was
first to make /controller. The broker that is the controller is stopped: a watch tells of it, and
another one takes the place.
"""

from __future__ import annotations

import json
from typing import Final

from kazoo.client import KazooClient

from examples.cluster.lab import LabFailed, say, shell
from examples.labs.staging import await_so, check, expect, on_cluster
from headrace.testing import Cluster

IDS: Final = "/brokers/ids"


def controller_of(zookeeper: KazooClient) -> int | None:
    """The broker that decides for all; None while there is none."""
    if zookeeper.exists("/controller") is None:
        return None
    data, _ = zookeeper.get("/controller")
    return int(json.loads(data)["brokerid"])


def story(cluster: Cluster) -> None:
    zookeeper = KazooClient(hosts=cluster.zookeeper)
    zookeeper.start()
    try:
        _watch(cluster, zookeeper)
    finally:
        zookeeper.stop()
        zookeeper.close()


def _watch(cluster: Cluster, zookeeper: KazooClient) -> None:
    say("Who is there, and who decides?")
    listed = shell("zookeeper-shell", cluster.zookeeper, "ls", IDS)
    check("[0, 1, 2]" in listed, "three brokers are alive")
    shell("zookeeper-shell", cluster.zookeeper, "get", "/controller")
    first = controller_of(zookeeper)
    if first is None:
        raise LabFailed("there is no controller")
    _, status = zookeeper.get("/controller")
    check(status.ephemeralOwner != 0, "the node lives as long as its broker's session")

    say(f"A watch on {IDS}, and broker {first}, the controller, is stopped")
    seen: list[list[int]] = []

    def told(children: list[str]) -> None:
        """Called at once, and then at each change."""
        seen.append(sorted(map(int, children)))

    zookeeper.ChildrenWatch(IDS, told)
    cluster.broker(first).stop()
    others = sorted(broker.id for broker in cluster.brokers if broker.id != first)
    await_so(lambda: bool(seen) and seen[-1] == others, f"the watch tells: only {others} are left")
    listed = shell("zookeeper-shell", cluster.zookeeper, "ls", IDS)
    check(str(others) in listed, "ls shows the same")
    await_so(lambda: controller_of(zookeeper) in others, "another broker is the controller")
    second = controller_of(zookeeper)
    print(f"it is broker {second}")

    say(f"Broker {first} comes back")
    cluster.broker(first).start()
    await_so(lambda: seen[-1] == [0, 1, 2], "the watch tells: all three are there")
    expect(controller_of(zookeeper), second, "and the controller stays who it is")


if __name__ == "__main__":
    on_cluster(story)
