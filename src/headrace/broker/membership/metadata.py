"""This broker's view of the cluster, and the way changes become true.

A change is decided on the image, written to the tree in one transaction, then applied to the image
and followed by the local logs. What others have written arrives by `catch_up`. One goes after the
other, so a decision is never made on an image that is about to change; and because the tree takes a
write only on the versions that the image knows, a decision on an image that is behind is refused,
and made again on what the tree says now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from headrace.broker.membership.settings import CurrentSettings
from headrace.broker.watching import logs
from headrace.cluster import layout
from headrace.cluster.config_owners import (
    ConfigOwner,
    OwnerKind,
)
from headrace.cluster.following import changes_from, differences, roots_of
from headrace.cluster.image import (
    Change,
    ClusterImage,
    ConfigChanged,
    PartitionChanged,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
    TopicImage,
)
from headrace.cluster.store import load_image
from headrace.cluster.writing import chunks, ops_for
from headrace.coordination.tree import (
    BadVersion,
    Create,
    Delete,
    NodeChange,
    NodeEvent,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    OutcomeUnknown,
    SessionLost,
    StoreFailed,
    Unreachable,
)
from headrace.errors import ClientFault, CorruptData, Error, HeadraceError
from headrace.runtime.disk import is_passing
from headrace.types import TopicPartition

if TYPE_CHECKING:
    from headrace.broker.membership.session import TreeSession
    from headrace.broker.storage.storage import Storage
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.cluster.controller import Controllership

# A change of many topics is written in parts, because ZooKeeper refuses requests above a megabyte.
_MAX_OPS: Final = 500
_MAX_TRIES: Final = 20
_RETRY_S: Final = 1.0
_SLICE_S: Final = 0.001
# Logs that are made on the event loop, and as one work of a thread.
_FEW_LOGS: Final = 4
_LOGS_AT_ONCE: Final = 50

Decision = Callable[[ClusterImage], Sequence[Change]]
"""Reads the image and returns what shall change; it runs while nothing else can change it, and
again, from the beginning, when another broker was faster."""


class ControllerMoved(HeadraceError):
    """The decision of a controller was refused: another broker is the controller now."""


class Metadata:
    """The image, its tree, and the logs that follow it."""

    def __init__(
        self,
        broker_id: int,
        session: TreeSession,
        image: ClusterImage,
        config: BrokerConfig,
        storage: Storage,
        *,
        in_cluster: bool,
        on_decision: Callable[[Sequence[Op], Controllership], None] = lambda *_: None,
    ) -> None:
        self.image = image
        self.in_cluster = in_cluster
        # In which epoch everything is written that is not a controller's; with one broker it is.
        self.controllership: Controllership | None = None
        self.broker_id = broker_id
        self._session = session
        self.settings = CurrentSettings(broker_id, config, image, storage)
        self._storage = storage
        storage.known = image.partition
        self._on_decision = on_decision
        self._changing = asyncio.Lock()
        self._serves = False  # the logs follow only once they are loaded
        # Notes in the tree: of deleted topics whose folders are gone for good, and of those whose
        # folders are still there, or may come back.
        self._done_notes: set[str] = set()
        self._open_notes: set[str] = set()
        # Roles that found no room, and wait for it; in the order in which they are tried again.
        self._postponed: dict[tuple[str, int], TopicImage] = {}
        self._retrying: asyncio.Task[None] | None = None
        # Called with changes after they have become true here, in the order of this list: the gate
        # of connections reads limits that the quotas, which come before it, have changed.
        self.watchers: list[Callable[[Sequence[Change]], None]] = []
        self.topics_epoch = 0  # grows when a topic comes, grows or goes

    # -- changes ----------------------------------------------------------------------------------

    async def change(
        self, decide: Decision, *, controllership: Controllership | None = None
    ) -> Sequence[Change]:
        """Make a decision true everywhere, or raise what `decide` raises.

        ControllerMoved rejects the decision of one that is not the controller any more. A
        ClientFault says that the tree cannot be reached, or that others were faster every time.
        """
        async with self._changing:
            for _ in range(_MAX_TRIES):
                changes = decide(self.image)
                if not changes or await self._commit(changes, controllership):
                    return changes
        raise ClientFault(
            Error.REQUEST_TIMED_OUT, "other brokers change the same things all the time; try again"
        )

    async def _commit(
        self, changes: Sequence[Change], controllership: Controllership | None
    ) -> bool:
        """Write and apply; False if the tree has moved on, and the image has caught up with it."""
        for part in chunks(changes, _MAX_OPS) if self.in_cluster else [changes]:
            await self._free_names(part)
            right = controllership or self.controllership
            ops = ops_for(self.image, part, controllership=right)
            if right is not None:
                self._on_decision(ops, right)
            deleted = [] if self.in_cluster else [c.topic for c in part if type(c) is TopicDeleted]
            # A deleted topic's folders must not be adopted after a crash: see decision 0003.
            notes = [Create(layout.deleted_topic_path(topic.name)) for topic in deleted]
            try:
                await self._write([*self._forget_notes(), *ops, *notes])
            except (BadVersion, NodeExists, NoNode, NotEmpty, OutcomeUnknown) as fault:
                if fault.path == layout.CONTROLLER_EPOCH and not isinstance(fault, OutcomeUnknown):
                    raise ControllerMoved(str(fault)) from fault
                await self._reread(ops)
                if not all(_is_true(self.image, change) for change in part):
                    return False
            else:
                self._done_notes.clear()
                await self._apply(part)
            if deleted:
                self._open_notes |= {topic.name for topic in deleted}
                await self._close_notes()
        return True

    async def _free_names(self, changes: Sequence[Change]) -> None:
        """Before a topic is created again the deleted one must be gone: its note would take the
        new folders with the old ones at the next start. ClientFault if it cannot be gone yet.
        """
        names = {each.topic.name for each in changes if type(each) is TopicCreated}
        if names.isdisjoint(self._open_notes):
            return
        await self._delete_again()
        if reason := self._storage.deletions_left:
            self._retry_if_needed()
            raise ClientFault(
                Error.KAFKA_STORAGE_ERROR,
                f"the topic was deleted and is not gone yet: {reason}; try again",
            )
        # In a directory that is offline an old folder may be left: its topic id keeps it out.
        self._done_notes |= self._open_notes & names
        self._open_notes -= names

    async def _delete_again(self) -> None:
        await _in_slices(self._storage.delete_again())
        await self._storage.sync_deletions()

    async def _close_notes(self) -> None:
        """Remove the notes of deleted topics that no directory has any more, nor gives back after
        a power cut. One that is offline may: then they stay for the next start.
        """
        if self._storage.is_whole and not self._storage.deletions_left:
            self._done_notes |= self._open_notes
            self._open_notes.clear()
        if not self._done_notes:
            return
        try:
            await self._write(self._forget_notes())
        except ClientFault as fault:
            logs.CONTROLLER.warning("A deleted topic's note stays for now: %s", fault)
        else:
            self._done_notes.clear()

    def _forget_notes(self) -> list[Op]:
        """Remove the notes of topics whose folders are gone, at the latest with the next change: a
        topic that is created again must not be taken for a deleted one at the next start.
        """
        return [Delete(layout.deleted_topic_path(name)) for name in sorted(self._done_notes)]

    async def _write(self, ops: Sequence[Op]) -> None:
        try:
            await self._session.call(lambda tree: tree.multi(ops))
        except (SessionLost, Unreachable) as fault:
            raise _not_controller(fault) from fault
        except StoreFailed as fault:
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, str(fault)) from fault

    async def rotate_passwords(self) -> None:
        """Encrypt this broker's passwords with its secret where the old one still protects them."""
        try:
            changes = await self.change(
                lambda image: self.settings.passwords.rotated(image, self.broker_id)
            )
        except ClientFault as fault:
            logs.CONFIG.warning(
                "Passwords stay encrypted with password.encoder.old.secret for now: %s",
                fault,
            )
        else:
            if changes:
                logs.CONFIG.info(
                    "Passwords were encrypted with the new password.encoder.secret; "
                    "password.encoder.old.secret can be removed"
                )

    # -- news -------------------------------------------------------------------------------------

    async def catch_up(self, events: Iterable[NodeEvent]) -> None:
        """Read what has changed, by us or others, and apply what is new of it."""
        async with self._changing:
            await self._read(roots_of(events))

    async def refresh(self) -> None:
        """Read everything: what happened while nobody listened."""
        async with self._changing:
            await self._apply(differences(self.image, await self._session.call(load_image)))

    async def learn(self, changes: Sequence[Change]) -> None:
        """Apply what is known to be in the tree."""
        async with self._changing:
            await self._apply(changes)

    async def _reread(self, ops: Sequence[Op]) -> None:
        try:
            await self._read(roots_of(NodeEvent(NodeChange.CHANGED, op.path) for op in ops))
        except (SessionLost, Unreachable) as fault:
            raise _not_controller(fault) from fault

    async def _read(self, roots: Sequence[str]) -> None:
        if not roots:
            return
        news: list[Change] = []
        for root, nodes in zip(
            roots, await self._session.call(lambda tree: tree.subtrees(roots)), strict=True
        ):
            try:
                found = changes_from(self.image, root, nodes)
            except CorruptData as fault:
                # Somebody wrote nonsense by hand; what was true before stays true here.
                logs.CONTROLLER.error("%s cannot be understood: %s", root, fault)
                continue
            self.image.apply(found)
            news += found
        await self._follow_all(news)

    async def _apply(self, changes: Sequence[Change]) -> None:
        self.image.apply(changes)
        await self._follow_all(changes)

    # -- what follows from them here --------------------------------------------------------------

    def serve(self) -> None:
        """The logs are loaded: let them follow the image from now on, beginning with all of it."""
        self._serves = True
        for topic in list(self.image.topics.values()):
            for _ in self._take_roles(topic):
                pass
        self._retry_if_needed()

    async def _follow_all(self, changes: Sequence[Change]) -> None:
        """Let the logs follow, a slice at a time: others are served while thousands of partitions
        come or go, and see those that are known to the image and not yet here as without a leader.
        What the image has forgotten is gone for all before the first of them is served.
        """
        if not changes:
            return
        self._storage.withdraw([each.topic for each in changes if type(each) is TopicDeleted])
        for change in changes:
            await self._make_logs(change)
        await _in_slices(step for change in changes for step in self._follow(change))
        await self._storage.sync_deletions()
        self._retry_if_needed()
        for watcher in self.watchers:
            watcher(changes)

    async def _make_logs(self, change: Change) -> None:
        """Have a thread make the logs of new partitions, unless they are few."""
        match change:
            case TopicCreated(topic, _):
                first = 0
            case PartitionsAdded(topic, first):
                pass
            case _:
                return
        known = self.image.topics.get(topic.name)
        if not self._serves or known is None or known.id != topic.id:
            return  # it is deleted already
        here = [
            index
            for index in range(first, len(topic.partitions))
            if (image := self.image.partition(topic.name, index)) is not None
            and self._storage.broker_id in image.replicas
        ]
        if len(here) <= _FEW_LOGS:
            return
        config = self.settings.log_config(topic.name)
        for start in range(0, len(here), _LOGS_AT_ONCE):
            await self._storage.make_ahead(topic, here[start : start + _LOGS_AT_ONCE], config)

    def _follow(self, change: Change) -> Iterator[None]:
        """Do what a change means here; yields where others may be served in between."""
        match change:
            case TopicCreated(topic, _):
                self.topics_epoch += 1
                yield from self._take_roles(topic)
                logs.CONTROLLER.info(
                    "Created topic %s with %d partitions", topic.name, len(topic.partitions)
                )
            case TopicDeleted(topic):
                self.topics_epoch += 1
                for index in range(len(topic.partitions)):
                    self._storage.delete(TopicPartition(topic.name, index))
                    yield
                self._storage.forget_topic(topic.name)
                logs.CONTROLLER.info("Deleted topic %s", topic.name)
            case PartitionsAdded(topic, existing):
                self.topics_epoch += 1
                yield from self._take_roles(topic, existing)
            case PartitionChanged(name, index, _):
                topic_image = self.image.topics.get(name)
                if topic_image is not None:
                    self._take_role(topic_image, index)
                    yield
            case ConfigChanged(ConfigOwner(OwnerKind.TOPIC, name)):
                self._configure(name)
            case ConfigChanged(ConfigOwner(OwnerKind.GROUP, group)):
                self.settings.forget_group(group)
            case ConfigChanged(ConfigOwner(OwnerKind.BROKER)):
                self.settings.refresh()
                for name in list(self.image.topics):
                    self._configure(name)
                    yield
            case _:
                pass

    def _take_roles(self, topic: TopicImage, first: int = 0) -> Iterator[None]:
        for index in range(first, len(topic.partitions)):
            self._take_role(topic, index)
            yield

    def _take_role(self, topic: TopicImage, index: int) -> None:
        """Let the replica that is here, if any, lead or follow as the image says."""
        if not self._serves:
            return
        # The image may be ahead of the change: several may have arrived together.
        image = self.image.partition(topic.name, index)
        if image is None or self.image.topics[topic.name].id != topic.id:
            return
        try:
            self._storage.apply(topic, index, image, self.settings.log_config(topic.name))
        except (OSError, ClientFault) as fault:
            # The cluster knows the partition; here it is offline until a disk is mended.
            self._storage.unserved[topic.name, index] = str(fault)
            if is_passing(fault):
                # A full disk has room again some day, and nobody else plays this role until then.
                self._postpone(topic, index, fault)
            else:
                logs.LOG_MANAGER.error("%s-%d has no log: %s", topic.name, index, fault)

    def _postpone(self, topic: TopicImage, index: int, fault: Exception) -> None:
        if not self._postponed:
            logs.LOG_MANAGER.error(
                "%s-%d has no log, and is tried again soon, as are others: %s",
                topic.name,
                index,
                fault,
            )
        self._postponed[topic.name, index] = topic

    # -- what was impossible ----------------------------------------------------------------------

    def _retry_if_needed(self) -> None:
        """A full disk, or too few descriptors: try again, soon and as often as it takes."""
        left = self._storage.deletions_left
        if not (left or self._postponed):
            return
        if self._retrying is None or self._retrying.done():
            if left:
                logs.LOG_MANAGER.error("Deletions are tried again soon: %s", left)
            self._retrying = asyncio.get_running_loop().create_task(self._retry())

    async def _retry(self) -> None:
        while self._postponed or self._storage.deletions_left:
            await asyncio.sleep(_RETRY_S)
            async with self._changing:
                if self._storage.deletions_left:
                    await self._delete_again()
                    await self._close_notes()
                await self._take_postponed()

    async def _take_postponed(self) -> None:
        """What was impossible may be possible now; who waits for a role did not hear of it."""
        waiting, self._postponed = self._postponed, {}
        taken: list[Change] = []
        await _in_slices(self._take_waiting(waiting, taken))
        if taken:
            for watcher in self.watchers:
                watcher(taken)

    def _take_waiting(
        self, waiting: Mapping[tuple[str, int], TopicImage], taken: list[Change]
    ) -> Iterator[None]:
        for (name, index), topic in waiting.items():
            if self._postponed:
                self._postponed[name, index] = topic  # there is still no room
                continue
            self._take_role(topic, index)
            image = self.image.partition(name, index)
            partition = self._storage.partitions.get((name, index))
            if (
                image is not None
                and partition is not None
                and partition.topic_id == topic.id
                and (name, index) not in self._storage.unserved
            ):
                taken.append(PartitionChanged(name, index, image))
            yield

    def _configure(self, name: str) -> None:
        topic = self.image.topics.get(name)
        if topic is None:
            return  # Deleted since.
        config = self.settings.log_config(name)
        for index in range(len(topic.partitions)):
            partition = self._storage.partitions.get((name, index))
            if partition is not None:
                partition.log.config = config


async def _in_slices(steps: Iterable[None]) -> None:
    """Take all steps, and let others be served in between."""
    loop = asyncio.get_running_loop()
    slice_ends = loop.time() + _SLICE_S
    for _ in steps:
        if loop.time() >= slice_ends:
            await asyncio.sleep(0)
            slice_ends = loop.time() + _SLICE_S


def _not_controller(fault: Exception) -> ClientFault:
    """What a client is told when the tree cannot be asked: every client tries again for this."""
    return ClientFault(Error.NOT_CONTROLLER, f"the cluster's state cannot be changed now: {fault}")


def _is_true(image: ClusterImage, change: Change) -> bool:
    """Whether a change that nobody confirmed has happened nevertheless."""
    match change:
        case TopicCreated(topic, _):
            return topic.id in image.topic_names
        case TopicDeleted(topic):
            return topic.id not in image.topic_names
        case PartitionsAdded(topic, existing):
            known = image.topics.get(topic.name)
            return known is not None and [
                each.replicas for each in known.partitions[existing : len(topic.partitions)]
            ] == [each.replicas for each in topic.partitions[existing:]]
        case PartitionChanged(name, index, wanted):
            return image.partition(name, index) == wanted
        case _:
            return False  # Settings: written again, they come to the same.
