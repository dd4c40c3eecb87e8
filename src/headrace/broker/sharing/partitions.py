"""The share partitions that this broker leads: found, loaded, kept, woken, given up.

The state machine is `headrace.replica.sharing`; here are the event loop's duties for it. A share
partition lives as long as this broker leads its partition in one epoch and its group has a member
here; the next one, here or elsewhere, begins with what was kept. While its state is being read, who
wants records waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from headrace.broker.sharing.start import resolve_start
from headrace.broker.sharing.states import KeptShare
from headrace.broker.watching import logs
from headrace.cluster.image import Change, PartitionChanged, TopicDeleted
from headrace.errors import ClientFault, Error, HeadraceError
from headrace.replica.sharing.partition import SharePartition
from headrace.replica.sharing.states import Acknowledgement, ShareLimits, StateWrite
from headrace.types import SharePartitionKey

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.sharing.sessions import SessionName
    from headrace.broker.sharing.states import ShareStates
    from headrace.broker.storage.storage import Storage
    from headrace.replica.partition import Partition
    from headrace.replica.waiters import FetchWaiter
    from headrace.runtime.clock import Clock

_FENCED: Final = (Error.FENCED_LEADER_EPOCH, Error.FENCED_STATE_EPOCH)

Told = Callable[[Error], None]
"""Called with the outcome of an acknowledgement, at once or when it is kept."""


class LedShare:
    """One share partition and what waits for it. `share` is None while its state is being read."""

    __slots__ = (
        "key",
        "partition",
        "retired",
        "share",
        "timer",
        "timer_at_ms",
        "waiters",
        "writer",
    )

    def __init__(self, key: SharePartitionKey, partition: Partition) -> None:
        self.key = key
        self.partition = partition
        self.share: SharePartition | None = None
        self.waiters: list[FetchWaiter] = []  # fetches, woken when records become free
        self.timer: asyncio.TimerHandle | None = None
        self.timer_at_ms = 0
        self.writer: asyncio.Task[None] | None = None  # reads the state, and keeps it
        self.retired = False  # its group has no member here: it goes when it is kept

    def wake(self) -> None:
        for waiter in tuple(self.waiters):
            waiter.release()


class SharePartitions:
    """All share partitions of a broker, by group, topic id and partition."""

    def __init__(
        self, metadata: Metadata, storage: Storage, clock: Clock, states: ShareStates
    ) -> None:
        self.led: dict[SharePartitionKey, LedShare] = {}
        self._metadata = metadata
        self._storage = storage
        self._clock = clock
        self._states = states
        self._loop = asyncio.get_running_loop()
        self._limits: dict[str, tuple[object, ShareLimits]] = {}
        self._stopped = False
        metadata.watchers.append(self._on_changes)

    def limits(self, group_id: str) -> ShareLimits:
        """The group's settings; its share partitions follow their changes."""
        config = self._metadata.settings.group_config(group_id)
        known = self._limits.get(group_id)
        if known is None or known[0] is not config:
            known = self._limits[group_id] = (
                config,
                ShareLimits(
                    lock_duration_ms=config["share.record.lock.duration.ms"],
                    delivery_count_limit=config["share.delivery.count.limit"],
                    max_record_locks=config["share.partition.max.record.locks"],
                    renew_enabled=config["share.renew.acknowledge.enable"],
                ),
            )
        return known[1]

    # -- coming and going -------------------------------------------------------------------------

    def find(self, key: SharePartitionKey) -> LedShare:
        """The share partition, perhaps still loading; ClientFault if it is not ours to lead."""
        if self._stopped:
            raise ClientFault(Error.NOT_LEADER_OR_FOLLOWER, "this broker is shutting down")
        partition = self._partition(key)
        led = self.led.get(key)
        if led is not None:
            share = led.share
            if led.partition is partition and (
                share is None or share.leader_epoch == partition.leader_epoch
            ):
                led.retired = False
                if share is not None and share.start_offset < partition.log.log_start_offset:
                    share.on_log_start(partition.log.log_start_offset)
                    self.keep(led)
                return led
            self._drop(led, Error.NOT_LEADER_OR_FOLLOWER)
        led = self.led[key] = LedShare(key, partition)
        led.writer = self._loop.create_task(self._load(led))
        return led

    def _partition(self, key: SharePartitionKey) -> Partition:
        name = self._metadata.image.topic_names.get(key.topic_id)
        if name is None:
            raise ClientFault(Error.UNKNOWN_TOPIC_ID)
        return self._storage.find_leader(name, key.partition)

    async def _load(self, led: LedShare) -> None:
        leader_epoch = led.partition.leader_epoch
        kept = await self._states.read(led.key, leader_epoch)
        if self.led.get(led.key) is not led:
            return
        if not isinstance(kept, KeptShare):
            # Those who wait are not woken: their next request tries again. A state that nobody
            # has initialized is no news; the group coordinator will.
            level = logging.DEBUG if kept is Error.INVALID_REQUEST else logging.WARNING
            logs.COORDINATOR.log(level, "The state of %s cannot be read: %s", led.key, kept.name)
            del self.led[led.key]
            return
        config = self._metadata.settings.group_config(led.key.group_id)
        try:
            start = await resolve_start(
                led.partition.log,
                kept.start_offset,
                config["share.auto.offset.reset"],
                committed_only=config["share.isolation.level"] == "read_committed",
                now_ms=self._clock.now_ms(),
            )
        except (HeadraceError, OSError, RuntimeError) as fault:
            logs.COORDINATOR.warning("The start of %s cannot be found: %s", led.key, fault)
            if self.led.get(led.key) is led:
                del self.led[led.key]  # the next request tries again
            return
        led.writer = None
        if self.led.get(led.key) is not led:
            return
        led.share = SharePartition(
            start,
            kept.batches,
            leader_epoch=leader_epoch,
            state_epoch=kept.state_epoch,
            saved_start=kept.start_offset,
        )
        led.share.on_log_start(led.partition.log.log_start_offset)
        self.keep(led)
        led.wake()
        if led.retired and led.writer is None:
            self._drop(led, Error.NOT_LEADER_OR_FOLLOWER)

    def _drop(self, led: LedShare, error: Error) -> None:
        if self.led.get(led.key) is led:
            del self.led[led.key]
        if led.timer is not None:
            led.timer.cancel()
        if led.share is not None:
            for tell, told in led.share.abandon(error):
                tell(told)
        led.wake()

    def _on_changes(self, changes: Sequence[Change]) -> None:
        if not self.led:
            return
        for change in changes:
            match change:
                case TopicDeleted(topic):
                    for led in list(self.led.values()):
                        if led.key.topic_id == topic.id:
                            self._drop(led, Error.UNKNOWN_TOPIC_OR_PARTITION)
                case PartitionChanged(name, index, _):
                    for led in list(self.led.values()):
                        where = led.partition.topic_partition
                        if where == (name, index) and not self._is_led(led):
                            self._drop(led, Error.NOT_LEADER_OR_FOLLOWER)
                case _:
                    pass

    def _is_led(self, led: LedShare) -> bool:
        partition = led.partition
        return partition.is_leader and (
            led.share is None or led.share.leader_epoch == partition.leader_epoch
        )

    # -- acknowledging ----------------------------------------------------------------------------

    def acknowledge(
        self, led: LedShare, member_id: str, batches: Sequence[Acknowledgement], tell: Told
    ) -> None:
        """Take what a member says; `tell` is called once, when it is kept or refused."""
        share = led.share
        if share is None:
            # Whatever was held before is free: a lock does not outlive its leader.
            tell(Error.INVALID_RECORD_STATE)
            return
        limits = self.limits(led.key.group_id)
        try:
            waits = share.acknowledge(member_id, batches, tell, self._clock.monotonic_ms(), limits)
        except ClientFault as fault:
            tell(fault.error)
            return
        if waits:
            self.keep(led)
        else:
            tell(Error.NONE)

    def on_left(self, name: SessionName, is_last: bool) -> None:
        """A member is gone: what it held is free again. Without members nothing is remembered."""
        for led in self._of_group(name.group_id):
            if led.share is not None:
                led.share.release(name.member_id, None, self.limits(name.group_id))
                self.keep(led)
            if is_last:
                led.retired = True
                if led.writer is None:
                    self._drop(led, Error.NOT_LEADER_OR_FOLLOWER)
        if is_last:
            self._limits.pop(name.group_id, None)

    def _of_group(self, group_id: str) -> Iterator[LedShare]:
        for led in list(self.led.values()):
            if led.key.group_id == group_id:
                yield led

    # -- keeping ----------------------------------------------------------------------------------

    def keep(self, led: LedShare) -> None:
        """Write what has changed, unless that is being done."""
        if led.writer is None and led.share is not None:
            write = led.share.begin_write()
            if write is not None:
                led.writer = self._loop.create_task(self._write(led, led.share, write))

    async def _write(self, led: LedShare, share: SharePartition, write: StateWrite | None) -> None:
        while write is not None:
            error = await self._states.write(led.key, share.leader_epoch, share.state_epoch, write)
            if self.led.get(led.key) is not led:
                return
            if error in _FENCED or error is Error.INVALID_REQUEST:
                # Somebody else leads, or has begun the state anew: what is known here is void.
                logs.COORDINATOR.info("%s starts again: %s", led.key, error.name)
                self._drop(led, Error.NOT_LEADER_OR_FOLLOWER)
                return
            was_full = share.next_offset(self.limits(led.key.group_id)) is None
            for tell, told in share.end_write(error):
                tell(told)
            if was_full or share.window.first_free is not None:
                led.wake()
            self.arm(led)
            write = share.begin_write()
        led.writer = None
        if led.retired:
            self._drop(led, Error.NOT_LEADER_OR_FOLLOWER)

    # -- time -------------------------------------------------------------------------------------

    def arm(self, led: LedShare) -> None:
        """Look again when the first lock may expire."""
        wake_at_ms = None if led.share is None else led.share.wake_at_ms
        if wake_at_ms is None or (led.timer is not None and led.timer_at_ms <= wake_at_ms):
            return
        if led.timer is not None:
            led.timer.cancel()
        delay_ms = max(wake_at_ms - self._clock.monotonic_ms(), 0)
        led.timer = self._loop.call_later(delay_ms / 1000, self._on_time, led)
        led.timer_at_ms = wake_at_ms

    def _on_time(self, led: LedShare) -> None:
        led.timer = None
        if led.share is None or self.led.get(led.key) is not led:
            return
        if led.share.on_time(self._clock.monotonic_ms(), self.limits(led.key.group_id)):
            self.keep(led)
            led.wake()
        self.arm(led)

    def stop(self) -> None:
        """No timer fires any more, and nobody waits."""
        self._stopped = True
        for led in list(self.led.values()):
            self._drop(led, Error.NOT_LEADER_OR_FOLLOWER)
