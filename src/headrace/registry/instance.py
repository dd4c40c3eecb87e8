"""One running registry: its state, the topics behind it, its part in the election.

Threads, and who may touch the state:

    event loop   replays what the readers bring, answers what needs no computing
    worker       one thread for what takes long: parsing, compatibility, decisions
    writer       one thread that waits for Kafka
    forward      a few threads that wait for the primary
    readers      one per topic; they hand over to the event loop
    member       the group's heartbeats

Replays and the worker take turns (`_turn`), so the state never changes under a computation, and
nothing that the event loop reads changes anywhere else. Writes are one at a time: make sure of
being the only writer, decide, append, wait until it is replayed, answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar

from headrace.http.listeners import Listener
from headrace.registry import errors
from headrace.registry.decisions import Decision
from headrace.registry.election import Election, identity_of
from headrace.registry.errors import RegistryError
from headrace.registry.forwarding import Carried, CarriedBack, Forwarder, NotDone
from headrace.registry.parsed import ParsedSchemas
from headrace.registry.settings import RegistrySettings
from headrace.registry.state import Defaults, RegistryState
from headrace.registry.store import Deposed, StoredRecord, TopicStore
from headrace.registry.topic_records import noop_key

_LOG: Final = logging.getLogger(__name__)

_FORWARD_THREADS: Final = 4
_LOOK_AGAIN_S: Final = 0.2

T = TypeVar("T")
Decide = Callable[[RegistryState], Decision[Any]]


class Batch(NamedTuple):
    """Several writes, each decided after the one before; the reply is made of their outcomes."""

    decides: tuple[Decide, ...]
    reply: Callable[[list[Any]], object]


class NotPrimary(RegistryError):
    """A carried request came to an instance that is not the primary: nothing was done."""


class Registry:
    """`open` it in a thread, `join` it on the loop once its listeners are bound."""

    def __init__(self, settings: RegistrySettings) -> None:
        self.settings = settings
        self.state = RegistryState(
            Defaults(
                compatibility_level=settings.compatibility_level,
                mode_mutability=settings.mode_mutability,
            )
        )
        self.state.parsed = ParsedSchemas(settings.schema_cache_size)
        self.store = TopicStore(
            settings, settings.topic, self._on_schemas, fence_record=(noop_key(), None)
        )
        self.keys_store = TopicStore(
            settings, settings.keys_topic, self._on_keys, fence_record=None
        )
        self.election: Election | None = None
        self._forwarder = Forwarder(settings)
        self._worker = ThreadPoolExecutor(1, "worker")
        self._writer = ThreadPoolExecutor(1, "writer")
        self._forward = ThreadPoolExecutor(_FORWARD_THREADS, "forward")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        self._write_turn = asyncio.Lock()
        self._news = asyncio.Event()
        self._queued = 0

    # -- life -------------------------------------------------------------------------------------

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read both topics to their ends; from then on `loop` replays what follows."""
        started = time.monotonic()
        self.store.open()
        self.keys_store.open()
        self._loop = loop
        self.store.follow()
        self.keys_store.follow()
        for finding in self.state.findings:
            _LOG.warning("%s: %s", self.settings.topic, finding)
        _LOG.info(
            "read %s up to offset %d in %.1f s",
            self.settings.topic,
            self.store.offset,
            time.monotonic() - started,
        )

    def join(self, bound: Listener) -> None:
        """Take part in the election as the instance that listens there."""
        identity = identity_of(self.settings, bound)
        self.election = Election(self.settings, identity, self._on_election)
        self.election.start()

    def close(self) -> None:
        """Leave the group first, so that another instance takes over at once."""
        if self.election is not None:
            self.election.close()
        self.store.close()
        self.keys_store.close()
        for executor in (self._worker, self._writer, self._forward):
            executor.shutdown(wait=False, cancel_futures=True)

    @property
    def is_primary(self) -> bool:
        return self.election is not None and self.election.is_primary

    @property
    def failure(self) -> str | None:
        """Why this instance is not healthy; None if it is."""
        return self.store.failure or self.keys_store.failure

    # -- from other threads -----------------------------------------------------------------------

    def _on_schemas(self, records: Sequence[StoredRecord]) -> None:
        self._replay(records, self.state.replay)

    def _on_keys(self, records: Sequence[StoredRecord]) -> None:
        self._replay(records, self.state.replay_key)

    def _replay(self, records: Sequence[StoredRecord], replay: Callable[..., None]) -> None:
        def apply() -> None:
            for key, value, offset, timestamp_ms in records:
                replay(key, value, offset=offset, timestamp_ms=timestamp_ms)

        if self._loop is None:
            apply()  # Nobody else is there yet.
        elif records:
            asyncio.run_coroutine_threadsafe(self.in_turn(apply), self._loop).result()

    async def in_turn(self, apply: Callable[[], None]) -> None:
        """Change the state when nothing is being computed from it."""
        async with self._turn:
            apply()

    def _on_election(self) -> None:
        assert self._loop is not None, "an instance joins after it was opened"
        self._loop.call_soon_threadsafe(self._hear)

    def _hear(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
        self.store.doubt()
        self.keys_store.doubt()
        if self.is_primary:
            # Not at the first write: until the new primary has written, a deposed one still can.
            self._writer.submit(self._take_over)

    def _take_over(self) -> None:
        try:
            self.store.prepare()
            _LOG.info("this instance is the primary; it has read up to %d", self.store.offset)
        except (RegistryError, Deposed) as error:
            _LOG.warning("the first write as the primary failed: %s", error)

    # -- what requests do -------------------------------------------------------------------------

    async def compute(self, work: Callable[[], T]) -> T:
        """Run something long in its turn; refuse when too much waits already."""
        if self._queued >= self.settings.worker_queue_size:
            raise RegistryError(503, "The registry is busy: too many requests wait. Try again")
        self._queued += 1
        try:
            return await asyncio.shield(self._computed(work))
        finally:
            self._queued -= 1

    async def _computed(self, work: Callable[[], T]) -> T:
        async with self._turn:
            return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    async def write(
        self, work: Decide | Batch, request: Carried, *, was_carried: bool, may_be_known: bool
    ) -> object:
        """Do what was decided here, or let the primary do it: the reply, or a `CarriedBack`.

        `may_be_known` is for requests that often change nothing (a schema that is registered
        already): then the answer needs no primary.
        """
        if may_be_known and not isinstance(work, Batch):
            known = await self._known(work)
            if known is not None:
                return known.reply()
        deadline = time.monotonic() + self.settings.leader_connect_timeout_ms / 1000
        trouble = "Leader not known."
        while True:
            news = self._news
            try:
                if self.is_primary:
                    return await self._written(work)
                if was_carried:
                    raise NotPrimary(
                        50003, "The request was forwarded here: this is not the primary."
                    )
                primary = self.election.primary if self.election is not None else None
                if primary is not None:
                    return await self._carried(primary, request)
            except (Deposed, NotDone) as error:
                trouble = f"Leader not known: {error}"
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise errors.unknown_leader(trouble)
            await _either(news.wait(), min(left_s, _LOOK_AGAIN_S))

    async def _known(self, decide: Decide) -> Decision[Any] | None:
        """The decision, if it changes nothing; a follower's errors may be out of date."""
        try:
            decision = await self.compute(lambda: decide(self.state))
        except RegistryError:
            if self.is_primary:
                raise
            return None
        return None if decision.writes or decision.key_writes else decision

    async def _written(self, work: Decide | Batch) -> object:
        async with self._write_turn:
            try:
                if not isinstance(work, Batch):
                    return await self._decided(work)
                outcomes: list[Any] = []
                for decide in work.decides:
                    try:
                        outcomes.append(await self._decided(decide))
                    except RegistryError as error:
                        outcomes.append(error)
                return work.reply(outcomes)
            except Deposed:
                assert self.election is not None, "only a primary is deposed"
                self.election.doubt()
                raise

    async def _decided(self, decide: Decide) -> object:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writer, self.store.prepare)
        decision = await self.compute(lambda: decide(self.state))
        if decision.key_writes:
            # The first write proves that this is the primary; the other topic has no such record.
            await self._append(self.store, [*decision.writes, (noop_key(), None)])
            await loop.run_in_executor(self._writer, self.keys_store.prepare)
            await self._append(self.keys_store, decision.key_writes)
        elif decision.writes:
            await self._append(self.store, decision.writes)
        reply: object = decision.reply()
        return reply

    async def _append(
        self, store: TopicStore, writes: Sequence[tuple[bytes, bytes | None]]
    ) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.shield(loop.run_in_executor(self._writer, store.append, writes))

    async def _carried(self, primary: Any, request: Carried) -> CarriedBack:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._forward, self._forwarder.forward, primary, request)


async def _either(waiting: Any, timeout_s: float) -> None:
    """Return when this is done or the time is up."""
    try:
        await asyncio.wait_for(waiting, timeout_s)
    except TimeoutError:
        pass  # Whoever waits looks again by itself.
