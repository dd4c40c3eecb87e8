"""Where the tasks of a worker run: in its own threads, in child processes, or in tasks of Spark.

A connector's `headrace.runtime` says, else the worker's. Hosts are launched when a task needs them:
up to `headrace.hosts` are shared, and a task with `headrace.isolation=own` has one to itself.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.config.worker import WorkerConfig
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.assembly import TaskSpec
from headrace.pipelines.connect.host.host import Host
from headrace.pipelines.connect.worker.processes import ChildProcess
from headrace.pipelines.connect.worker.remote_host import Launch, Listeners, RemoteHost
from headrace.pipelines.connect.worker.spark_hosts import SparkHosts
from headrace.runtime.clock import Clock


class Hosting(Protocol):
    """Whatever runs tasks."""

    def start(self, spec: TaskSpec) -> None: ...

    def stop(self, tasks: Iterable[TaskId], timeout_s: float) -> list[TaskId]: ...

    def pause(self, tasks: Iterable[TaskId]) -> None: ...

    def resume(self, tasks: Iterable[TaskId]) -> None: ...

    def close(self, timeout_s: float) -> None: ...

    @property
    def tasks(self) -> list[TaskId]: ...


class Launcher:
    """The hosts of one worker, with the face of each of them."""

    def __init__(self, settings: WorkerConfig, clock: Clock, listeners: Listeners) -> None:
        self._runtime = settings.text("headrace.runtime")
        self._most = settings.number("headrace.hosts")
        self._listeners = listeners
        self._lock = threading.Lock()
        self._threads = Host(
            clock, listeners.on_state, listeners.on_reconfigure, listeners.on_topic
        )
        self._spark = SparkHosts(self._most)
        self._launches: dict[str, Launch] = {"process": ChildProcess, "spark": self._spark.launch}
        self._shared: defaultdict[str, list[RemoteHost]] = defaultdict(list)
        self._own: dict[TaskId, RemoteHost] = {}
        self._places: dict[TaskId, Hosting] = {}

    def start(self, spec: TaskSpec) -> None:
        """Start a task that is not running, on a host for it."""
        with self._lock:
            host = self._host_for(spec)
            self._places[spec.id] = host
        host.start(spec)

    def stop(self, tasks: Iterable[TaskId], timeout_s: float) -> list[TaskId]:
        """Ask these to stop and wait for them; returns those that have not ended in time."""
        with self._lock:
            chosen = {task: self._places.pop(task) for task in tasks if task in self._places}
            own = [host for task in chosen if (host := self._own.pop(task, None)) is not None]
        by_host = _grouped(chosen)
        if not by_host:
            return []
        with ThreadPoolExecutor(len(by_host)) as threads:
            waits = [threads.submit(host.stop, each, timeout_s) for host, each in by_host]
            late = [task for wait in waits for task in wait.result()]
            for host in own:
                threads.submit(host.close, timeout_s)
        return late

    def pause(self, tasks: Iterable[TaskId]) -> None:
        """Let these rest."""
        for host, each in self._hosts_of(tasks):
            host.pause(each)

    def resume(self, tasks: Iterable[TaskId]) -> None:
        """Let these go on."""
        for host, each in self._hosts_of(tasks):
            host.resume(each)

    def close(self, timeout_s: float) -> None:
        """Stop every task, and end all hosts."""
        self.stop(self.tasks, timeout_s)
        with self._lock:
            hosts = [host for each in self._shared.values() for host in each]
            self._shared.clear()  # whoever starts a task after this gets a host that lives
        for host in hosts:
            host.close(timeout_s)
        self._spark.close()

    @property
    def tasks(self) -> list[TaskId]:
        """Those that were started and not stopped, failed ones included."""
        return list(self._places)

    def _hosts_of(self, tasks: Iterable[TaskId]) -> list[tuple[Hosting, list[TaskId]]]:
        with self._lock:
            return _grouped({task: self._places[task] for task in tasks if task in self._places})

    def _host_for(self, spec: TaskSpec) -> Hosting:
        said = keys.OURS.read(spec.config)
        runtime = str(said["headrace.runtime"] or self._runtime)
        if runtime == "thread":
            return self._threads
        launch = self._launches[runtime]
        if said["headrace.isolation"] == "own":
            self._own[spec.id] = RemoteHost(launch, self._listeners)
            return self._own[spec.id]
        shared = self._shared[runtime]
        idle = [host for host in shared if not host.tasks]
        if not idle and len(shared) < self._most:
            shared.append(RemoteHost(launch, self._listeners))
            return shared[-1]
        return min(shared, key=lambda host: len(host.tasks))


def _grouped(places: dict[TaskId, Hosting]) -> list[tuple[Hosting, list[TaskId]]]:
    """The tasks of each host."""
    found: dict[int, tuple[Hosting, list[TaskId]]] = {}
    for task, host in places.items():
        found.setdefault(id(host), (host, []))[1].append(task)
    return list(found.values())
