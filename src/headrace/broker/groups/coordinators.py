"""The shards of one internal topic that live on this broker: loading, timers, finding one by name.

The state machines are in `headrace.coordinator`; here are the event loop's duties for them. A shard
is loaded in pieces between which the loop serves others, so that a large internal topic delays
nobody but its own groups, who are told COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar
from uuid import UUID

from headrace.broker.groups.tickets import CallAnswer, Gathering, ShardTicket
from headrace.broker.net.handler import Outcome
from headrace.broker.watching import logs
from headrace.cluster.image import (
    Change,
    ClusterImage,
    PartitionChanged,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
)
from headrace.cluster.topics import NewTopic, TopicDefaults, create_topic
from headrace.coordinator.effects import Caller, Effects, Record, Send
from headrace.coordinator.host import Hooks, Host, HostState, InternalTopic, S
from headrace.coordinator.partitioner import partition_for
from headrace.errors import ClientFault, Error
from headrace.log.append import Appended
from headrace.replica.waiters import CommitWaiter
from headrace.types import NO_LEADER, TopicPartition

if TYPE_CHECKING:
    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.storage.storage import Storage
    from headrace.replica.partition import Partition

T = TypeVar("T")
R = TypeVar("R")

Work = Callable[[S, Caller[T], int], Effects[Record, Send]]
"""What a request wants of a shard: (shard, caller, now_ms) -> effects."""

_RELOAD_AFTER_S: Final = 1.0


class TopicsView:
    """The cluster's topics as coordinators see them."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata

    @property
    def epoch(self) -> int:
        return self._metadata.topics_epoch

    def names(self) -> Iterable[str]:
        return self._metadata.image.topics

    def topic_id(self, name: str) -> UUID | None:
        topic = self._metadata.image.topics.get(name)
        return None if topic is None else topic.id

    def topic_name(self, topic_id: UUID) -> str | None:
        return self._metadata.image.topic_names.get(topic_id)

    def partition_count(self, name: str) -> int:
        topic = self._metadata.image.topics.get(name)
        return 0 if topic is None else len(topic.partitions)


class TopicPlan(NamedTuple):
    """How an internal topic is made, and which setting limits how long answers wait for it."""

    partition_count: int
    replication_factor_key: str
    configs: Mapping[str, str]
    commit_timeout_key: str = "offsets.commit.timeout.ms"


class Coordinators(Generic[S, Record, Send]):
    """Every shard of one internal topic."""

    def __init__(
        self,
        topic: InternalTopic[Record],
        plan: TopicPlan,
        metadata: Metadata,
        storage: Storage,
        machine: Machine,
        *,
        new_shard: Callable[[Partition], S],
        send: Callable[[Host[S, Record, Send], Send], None],
    ) -> None:
        self.hosts: dict[int, Host[S, Record, Send]] = {}
        self._epochs: dict[int, int] = {}  # the leader epoch in which each host was made
        self._topic = topic
        self._metadata = metadata
        self._storage = storage
        self._machine = machine
        self._clock = machine.clock
        self._plan = plan
        self._new_shard = new_shard
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._loads: set[asyncio.Task[None]] = set()
        self._reloading: set[int] = set()  # hosts that are loaded anew, or soon will be
        self._timers: dict[int, tuple[int, asyncio.TimerHandle]] = {}
        # Deadlines must not jump with the wall clock, but records carry its time.
        self._start_ms = self._clock.now_ms() - self._clock.monotonic_ms()
        metadata.watchers.append(self._on_changes)

    @property
    def topic_name(self) -> str:
        return self._topic.name

    def now_ms(self) -> int:
        return self._start_ms + self._clock.monotonic_ms()

    # -- the internal topic -----------------------------------------------------------------------

    @property
    def partition_count(self) -> int:
        """How many partitions the internal topic has; 0 before it was made."""
        topic = self._metadata.image.topics.get(self._topic.name)
        return 0 if topic is None else len(topic.partitions)

    async def create_topic(self) -> None:
        """Make the internal topic. Its default of three replicas gives way to what a small cluster
        has; a number that an operator has set does not: ClientFault.
        """
        name, plan = self._topic.name, self._plan
        factor = plan.replication_factor_key
        config = self._metadata.settings.config

        def decide(image: ClusterImage) -> list[TopicCreated]:
            if name in image.topics:
                return []
            replicas = config.get_int(factor)
            if not config.is_set(factor):
                replicas = min(replicas, max(len(image.brokers), 1))
            topic = NewTopic(name, plan.partition_count, replicas, configs=plan.configs)
            chance, new_id = self._machine.chance, self._machine.new_id
            return [create_topic(image, topic, TopicDefaults(), chance=chance, new_id=new_id)]

        await self._metadata.change(decide)

    def _on_changes(self, changes: Sequence[Change]) -> None:
        for change in changes:
            match change:
                case TopicCreated(topic, _) if topic.name == self._topic.name:
                    self.lead()
                case PartitionsAdded(topic, _) if topic.name == self._topic.name:
                    self.lead()
                case PartitionChanged(name, index, _) if name == self._topic.name:
                    self._follow_leadership(index)
                case TopicDeleted(topic) if topic.name == self._topic.name:
                    for index in list(self.hosts):
                        self._resign(index)
                case _:
                    pass

    def lead(self) -> None:
        """Take responsibility for the partitions that are led here, and load them."""
        for index in range(self.partition_count):
            self._follow_leadership(index)

    def _follow_leadership(self, index: int) -> None:
        """Be responsible for a partition in every epoch in which this broker leads it."""
        partition = self._storage.partitions.get(TopicPartition(self._topic.name, index))
        if partition is None or not partition.is_leader:
            self._resign(index)
            return
        epoch = partition.leadership.leader_epoch
        if self._epochs.get(index) == epoch:
            return
        self._resign(index)
        host = self.hosts[index] = self._new_host(index, partition)
        self._epochs[index] = epoch
        self._load(host)

    def _resign(self, index: int) -> None:
        host = self.hosts.pop(index, None)
        self._epochs.pop(index, None)
        if host is not None:
            _, timer = self._timers.pop(id(host), (0, None))
            if timer is not None:
                timer.cancel()
            host.resign()

    def _new_host(self, index: int, partition: Partition) -> Host[S, Record, Send]:
        def written(appended: Appended) -> None:
            if appended.flush_due or appended.rolled:
                self._storage.flush(partition)

        def wait(required: int, call: Callable[[], None]) -> None:
            # Followers that hang must not let a client hang: it is told to come again.
            def finish() -> None:
                timer.cancel()
                call()

            timeout_s = self._metadata.settings.config.get_int(self._plan.commit_timeout_key) / 1000
            waiter = CommitWaiter(finish)
            timer = self._loop.call_later(timeout_s, waiter.release)
            partition.await_commit(required, waiter)

        return Host(
            self._topic,
            partition,
            lambda: self._new_shard(partition),
            self._send,
            Hooks(
                written=written,
                note=logs.COORDINATOR.info,
                on_disk_fault=partial(self._storage.on_disk_fault, *partition.topic_partition),
                wait=wait,
            ),
        )

    # -- loading ----------------------------------------------------------------------------------

    def _load(self, host: Host[S, Record, Send]) -> None:
        steps = host.load(self.now_ms())
        if host.partition.log.log_end_offset == host.partition.log.log_start_offset:
            for _ in steps:
                pass
            self._reloading.discard(id(host))
            self._arm(host)
            return
        task = self._loop.create_task(self._load_slowly(host, steps))
        self._loads.add(task)
        task.add_done_callback(self._loads.discard)

    async def _load_slowly(self, host: Host[S, Record, Send], steps: Iterable[int]) -> None:
        for _ in steps:
            await asyncio.sleep(0)
        self._reloading.discard(id(host))
        where = host.partition.topic_partition
        if host.state is HostState.FAILED:
            logs.COORDINATOR.error(
                "%s cannot be read, so what it holds is not served: %s. Move its folder away to "
                "start again without it",
                where,
                host.reason,
            )
        if host.bad_records:
            logs.COORDINATOR.error("%s: records that make no sense: %d", where, host.bad_records)
        self._arm(host)

    async def loaded(self) -> None:
        """Wait until every load that has begun is done."""
        while self._loads:
            await asyncio.wait(self._loads)

    def stop(self) -> None:
        """Answer everybody who is parked; no timer fires any more."""
        for task in self._loads:
            task.cancel()
        for _, handle in self._timers.values():
            handle.cancel()
        for host in self.hosts.values():
            host.resign()

    # -- requests ---------------------------------------------------------------------------------

    def index_of(self, name: str) -> int:
        """The partition that is responsible for a name."""
        count = self.partition_count
        if not count:
            raise ClientFault(
                Error.COORDINATOR_NOT_AVAILABLE, f"{self._topic.name} does not exist yet"
            )
        return partition_for(name, count)

    def leader_of(self, name: str) -> int:
        """The broker that is responsible for a name; ClientFault while there is none."""
        partition = self._metadata.image.partition(self.topic_name, self.index_of(name))
        if partition is None or partition.leader == NO_LEADER:
            raise ClientFault(Error.COORDINATOR_NOT_AVAILABLE)
        return partition.leader

    def host_of(self, name: str) -> Host[S, Record, Send]:
        """The active host of a name; ClientFault with what the client should do instead."""
        index = self.index_of(name)
        host = self.hosts.get(index)
        if host is None and self._is_to_lead(index):
            raise ClientFault(Error.COORDINATOR_LOAD_IN_PROGRESS)
        if host is None or host.state is HostState.RESIGNED:
            raise ClientFault(Error.NOT_COORDINATOR)
        if host.state is HostState.LOADING:
            raise ClientFault(Error.COORDINATOR_LOAD_IN_PROGRESS)
        if host.state is HostState.FAILED:
            raise ClientFault(Error.COORDINATOR_NOT_AVAILABLE, host.reason)
        return host

    def _is_to_lead(self, index: int) -> bool:
        """Whether the image says that a partition is led here; its log may still be to come."""
        partition = self._metadata.image.partition(self._topic.name, index)
        return partition is not None and partition.leader == self._storage.broker_id

    def active(self) -> list[Host[S, Record, Send]]:
        return [host for host in self.hosts.values() if host.state is HostState.ACTIVE]

    def ask(
        self,
        name: str,
        call: Call,
        work: Work[S, T, Record, Send],
        refusal: Callable[[Error], T],
    ) -> Outcome[T]:
        """Let the shard of `name` answer a request."""
        answer: CallAnswer[T] = CallAnswer(call)
        self._work(name, caller(call, ShardTicket(answer.put, refusal)), work)
        return answer.outcome()

    def consult(
        self, name: str, work: Work[S, T, Record, Send], refusal: Callable[[Error], T]
    ) -> asyncio.Future[T]:
        """Let the shard of `name` answer a question of this broker."""
        future: asyncio.Future[T] = self._loop.create_future()

        def answer(response: T) -> None:
            if not future.done():
                future.set_result(response)

        self._work(name, Caller(ShardTicket(answer, refusal), "", "", 0), work)
        return future

    def ask_each(
        self,
        names: Sequence[str],
        call: Call,
        work: Callable[[int, S, Caller[T], int], Effects[Record, Send]],
        refusal: Callable[[int, Error], T],
        combine: Callable[[list[T]], R],
    ) -> Outcome[R]:
        """Let the shard of each name answer its part of a request; parts are numbered."""
        answer: CallAnswer[R] = CallAnswer(call)
        gathering: Gathering[T] = Gathering(len(names), lambda parts: answer.put(combine(parts)))
        for index, name in enumerate(names):
            ticket = ShardTicket(partial(gathering.put, index), partial(refusal, index))
            self._work(name, caller(call, ticket), partial(work, index))
        return answer.outcome()

    def _work(self, name: str, who: Caller[T], work: Work[S, T, Record, Send]) -> None:
        try:
            host = self.host_of(name)
        except ClientFault as fault:
            who.ticket.refuse(fault.error)
            return
        now_ms = self.now_ms()
        self.perform(host, work(host.shard, who, now_ms), now_ms)

    def perform(
        self, host: Host[S, Record, Send], effects: Effects[Record, Send], now_ms: int
    ) -> None:
        """Let happen what a shard asked for, and look after its timers."""
        host.perform(effects, now_ms)
        if host.state is HostState.LOADING:
            logs.COORDINATOR.error(
                "%s could not be written and is loaded again: %s",
                host.partition.topic_partition,
                host.reason,
            )
            self._reload_soon(host)
        self._arm(host)

    def _reload_soon(self, host: Host[S, Record, Send]) -> None:
        if id(host) not in self._reloading:
            self._reloading.add(id(host))
            self._loop.call_later(_RELOAD_AFTER_S, self._reload, host)

    def _reload(self, host: Host[S, Record, Send]) -> None:
        if host.state is HostState.LOADING:
            self._load(host)
        else:
            self._reloading.discard(id(host))

    # -- time -------------------------------------------------------------------------------------

    def _arm(self, host: Host[S, Record, Send]) -> None:
        wake_ms = host.next_wake_ms()
        if wake_ms is None:
            return
        key = id(host)
        armed = self._timers.get(key)
        if armed is not None:
            if armed[0] <= wake_ms:
                return
            armed[1].cancel()
        delay_s = max(wake_ms - self.now_ms(), 0) / 1000
        self._timers[key] = (wake_ms, self._loop.call_later(delay_s, self._on_time, host))

    def _on_time(self, host: Host[S, Record, Send]) -> None:
        self._timers.pop(id(host), None)
        host.on_time(self.now_ms())
        if host.state is HostState.LOADING:
            self._reload_soon(host)
        self._arm(host)


def caller(call: Call, ticket: ShardTicket[T]) -> Caller[T]:
    """Who asks, as members of groups are shown."""
    return Caller(ticket, call.client_id or "", f"/{call.connection.peer_host}", call.version)
