"""For tests, ours and yours: a broker in one line, and an outside world that obeys a test.

`Broker` is a real broker process, `Cluster` several with their ZooKeeper; `ConnectHarness` drives a
connector's task; `VirtualClock` and
`MemoryDisk` stand in for the outside world in tests of code that takes a clock or a disk as an
argument. `SimulatedLoop` and `SimulatedNetwork` run many programs in one process, on the events of
a `Schedule` whose order a seed decides; `RandomStreams` are their random numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.testing.broker import Broker, BrokerFailed
    from headrace.testing.cluster import Cluster, ClusterBroker
    from headrace.testing.connect_harness import ConnectHarness
    from headrace.testing.memory_disk import MemoryDisk, SimulatedCrash
    from headrace.testing.random_streams import RandomStreams
    from headrace.testing.schedule import Schedule
    from headrace.testing.simulated_loop import SimulatedLoop
    from headrace.testing.simulated_network import SimulatedNetwork, Weather
    from headrace.testing.virtual_clock import VirtualClock

__all__ = [
    "Broker",
    "BrokerFailed",
    "Cluster",
    "ClusterBroker",
    "ConnectHarness",
    "MemoryDisk",
    "RandomStreams",
    "Schedule",
    "SimulatedCrash",
    "SimulatedLoop",
    "SimulatedNetwork",
    "VirtualClock",
    "Weather",
]

_HOMES = {
    "Broker": "broker",
    "BrokerFailed": "broker",
    "Cluster": "cluster",
    "ClusterBroker": "cluster",
    "ConnectHarness": "connect_harness",
    "MemoryDisk": "memory_disk",
    "RandomStreams": "random_streams",
    "Schedule": "schedule",
    "SimulatedCrash": "memory_disk",
    "SimulatedLoop": "simulated_loop",
    "SimulatedNetwork": "simulated_network",
    "VirtualClock": "virtual_clock",
    "Weather": "simulated_network",
}


def __getattr__(name: str) -> Any:
    """Import on first use: a test that wants a clock need not load a broker."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
