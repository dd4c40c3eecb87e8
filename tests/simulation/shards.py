"""The shards of one internal topic, run on a schedule as the broker's `Coordinators` runs them.

The order of steps is the same: a request is refused if the shard is not active, the host performs
what the shard decides, a shard that could not be written is loaded anew, and a timer wakes it. Only
time is virtual, and a load takes as many events as it has pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

from headrace.broker.net.call import LATER
from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.host import Hooks, Host, HostState, InternalTopic, S
from headrace.coordinator.partitioner import partition_for
from headrace.errors import ClientFault, Error
from headrace.log import Appended
from headrace.testing.schedule import Alarm, Schedule
from headrace.types import TopicPartition
from tests.simulation.failure import check
from tests.simulation.network import Call
from tests.simulation.storage import Storage

T = TypeVar("T")

_RELOAD_AFTER_MS: Final = 1_000
_LONGEST_PAUSE_MS: Final = 60


class CallTicket:
    """Where the reply to one request, or to one part of it, goes."""

    __slots__ = ("_answer", "_refusal")

    def __init__(self, answer: Callable[[Any], None], refusal: Callable[[Error], Any]) -> None:
        self._answer = answer
        self._refusal = refusal

    def answer(self, response: Any) -> None:
        self._answer(response)

    def refuse(self, error: Error) -> None:
        self._answer(self._refusal(error))


class Shards(Generic[S]):
    """Every shard of one internal topic."""

    def __init__(
        self,
        topic: InternalTopic[Any],
        partition_count: int,
        storage: Storage,
        schedule: Schedule,
        *,
        new_shard: Callable[[], S],
        send: Callable[[Host[S, Any, Any], Any], None],
        is_dead: Callable[[], bool],
    ) -> None:
        self.hosts: dict[int, Host[S, Any, Any]] = {}
        self.topic_name = topic.name
        self.partition_count = partition_count
        self._topic = topic
        self._storage = storage
        self._schedule = schedule
        self._new_shard = new_shard
        self._send = send
        self._is_dead = is_dead
        self._armed: dict[int, tuple[int, Alarm]] = {}
        self._loading: set[Host[S, Any, Any]] = set()

    def now_ms(self) -> int:
        return self._schedule.now_ms

    def lead(self) -> None:
        """Make a host for each partition, and load it."""
        for index in range(self.partition_count):
            partition = self._storage.partitions[TopicPartition(self.topic_name, index)]

            def written(appended: Appended, partition: Any = partition) -> None:
                self._storage.written(partition, appended)

            host = self.hosts[index] = Host(
                self._topic, partition, self._new_shard, self._send, Hooks(written)
            )
            self._load(host)

    def _load(self, host: Host[S, Any, Any]) -> None:
        self._loading.add(host)
        steps = host.load(self.now_ms())
        log = host.partition.log
        if log.log_end_offset == log.log_start_offset:
            for _ in steps:
                pass
            self._loading.discard(host)
            self._look_after(host)
        else:
            self._load_slowly(host, steps)

    def _load_slowly(self, host: Host[S, Any, Any], steps: Iterator[int]) -> None:
        def go_on() -> None:
            if next(steps, None) is not None:
                self._load_slowly(host, steps)
                return
            where = host.partition.topic_partition
            check(host.state is not HostState.FAILED, "loads", f"{where}: {host.reason}")
            check(not host.bad_records, "loads", f"{where} has {host.bad_records} bad records")
            self._loading.discard(host)
            self._look_after(host)

        what = f"load of {host.partition.topic_partition}"
        self._later(self._schedule.rng.randrange(_LONGEST_PAUSE_MS), what, go_on)

    # Requests; the signatures are those that handlers call.

    def index_of(self, name: str) -> int:
        return partition_for(name, self.partition_count)

    def host_of(self, name: str) -> Host[S, Any, Any]:
        """The active host of a name; ClientFault with what the client should do instead."""
        host = self.hosts[self.index_of(name)]
        if host.state is HostState.LOADING:
            raise ClientFault(Error.COORDINATOR_LOAD_IN_PROGRESS)
        check(host.state is HostState.ACTIVE, "loads", f"{name} finds a {host.state.value} host")
        return host

    def active(self) -> list[Host[S, Any, Any]]:
        return [host for host in self.hosts.values() if host.state is HostState.ACTIVE]

    def ask(
        self,
        name: str,
        call: Call,
        work: Callable[[S, Caller[Any], int], Effects[Any, Any]],
        refusal: Callable[[Error], Any],
    ) -> Any:
        """Let the shard of `name` answer a request."""
        self._work(name, call, CallTicket(call.answer, refusal), work)
        return LATER

    def ask_each(
        self,
        names: Sequence[str],
        call: Call,
        work: Callable[[int, S, Caller[Any], int], Effects[Any, Any]],
        refusal: Callable[[int, Error], T],
        combine: Callable[[list[T]], Any],
    ) -> Any:
        """Let the shard of each name answer its part of a request."""
        parts: dict[int, T] = {}

        def put(index: int, part: T) -> None:
            check(index not in parts, "answered-once", f"a part of {call.name} comes twice")
            parts[index] = part
            if len(parts) == len(names):
                call.answer(combine([parts[each] for each in range(len(names))]))

        for index, name in enumerate(names):
            ticket = CallTicket(
                lambda part, index=index: put(index, part),  # type: ignore[misc]
                lambda error, index=index: refusal(index, error),  # type: ignore[misc]
            )

            def part(
                shard: S, who: Caller[Any], now_ms: int, index: int = index
            ) -> Effects[Any, Any]:
                return work(index, shard, who, now_ms)

            self._work(name, call, ticket, part)
        return LATER

    def _work(
        self,
        name: str,
        call: Call,
        ticket: CallTicket,
        work: Callable[[S, Caller[Any], int], Effects[Any, Any]],
    ) -> None:
        try:
            host = self.host_of(name)
        except ClientFault as fault:
            ticket.refuse(fault.error)
            return
        now_ms = self.now_ms()
        who = Caller(ticket, call.client_id, f"/{call.connection.peer_host}", call.version)
        self.perform(host, work(host.shard, who, now_ms), now_ms)

    def perform(self, host: Host[S, Any, Any], effects: Effects[Any, Any], now_ms: int) -> None:
        """Let happen what a shard asked for, and look after its timers."""
        host.perform(effects, now_ms)
        self._look_after(host)

    def _look_after(self, host: Host[S, Any, Any]) -> None:
        if host.state is HostState.LOADING and host not in self._loading:
            self._loading.add(host)
            what = f"load of {host.partition.topic_partition} after {host.reason}"
            self._later(_RELOAD_AFTER_MS, what, lambda: self._load(host))
        self._arm(host)

    # Time.

    def _arm(self, host: Host[S, Any, Any]) -> None:
        wake_ms = host.next_wake_ms()
        if wake_ms is None:
            return
        armed = self._armed.get(id(host))
        if armed is not None:
            if armed[0] <= wake_ms:
                return
            armed[1].cancel()
        delay_ms = max(wake_ms - self.now_ms(), 0)
        what = f"timers of {host.partition.topic_partition}"
        self._armed[id(host)] = (wake_ms, self._later(delay_ms, what, lambda: self._wake(host)))

    def _wake(self, host: Host[S, Any, Any]) -> None:
        self._armed.pop(id(host), None)
        host.on_time(self.now_ms())
        self._look_after(host)

    def _later(self, delay_ms: int, what: str, call: Callable[[], None]) -> Alarm:
        def unless_dead() -> None:
            if not self._is_dead():
                call()

        return self._schedule.after(delay_ms, what, unless_dead)
