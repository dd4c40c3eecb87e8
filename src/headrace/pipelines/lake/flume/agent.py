"""An agent at work: a thread for each source and for each sink.

    source ── interceptors ── channel ── sink
    stop: sources read nothing more ── sinks drain and close ── sources commit what is safe

A sink that fails rolls its transaction back and tries again, after longer and longer pauses. A
source that fails ends the agent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, cast

from headrace.pipelines.lake.flume.agent_file import AgentPlan, Component
from headrace.pipelines.lake.flume.channel import ChannelFull, MemoryChannel
from headrace.pipelines.lake.flume.components import (
    CHANNELS,
    SINKS,
    SOURCES,
    Deliver,
    Sink,
    Source,
    Surroundings,
    made,
    remarks_of,
)
from headrace.pipelines.lake.flume.event import Event
from headrace.pipelines.lake.flume.interceptors import Interceptor, interceptor

_LOOK_S: Final = 0.2
_FIRST_PAUSE_S: Final = 1.0
_MOST_PAUSE_S: Final = 5.0
_DRAIN_S: Final = 30.0


class Agent:
    """Made of its plan; `start` it, wait until `ended`, `stop` it."""

    def __init__(self, plan: AgentPlan, around: Surroundings) -> None:
        self._around = around
        self.ended = threading.Event()
        """Set when a source has failed; `fault` says why."""
        self.fault: Exception | None = None
        self._quiet = threading.Semaphore(0)
        self._drained = threading.Event()
        self._sources_are_quiet = threading.Event()
        self._channels = {
            each.name: cast(MemoryChannel, made(CHANNELS, each.name, each.settings))
            for each in plan.channels
        }
        self._sinks = [
            (each, cast(Sink, made(SINKS, each.name, each.settings, around))) for each in plan.sinks
        ]
        self._sources = [
            (each, cast(Source, made(SOURCES, each.name, each.settings, around)))
            for each in plan.sources
        ]
        self._delivering = [self._deliver_of(each) for each, _ in self._sources]
        parts = (*self._channels.values(), *(s for _, s in self._sinks + self._sources))
        self.remarks = (*plan.remarks, *(line for part in parts for line in remarks_of(part)))
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Let everything run."""
        for component, sink in self._sinks:
            self._begin(f"sink-{component.name}", partial(self._drain, component, sink))
        for (component, source), deliver in zip(self._sources, self._delivering, strict=True):
            self._begin(f"source-{component.name}", partial(self._read, component, source, deliver))

    def stop(self) -> None:
        """Read nothing more, write what was read, commit it."""
        self._around.stopping.set()
        for _ in self._sources:
            self._quiet.acquire(timeout=_DRAIN_S)
        self._sources_are_quiet.set()
        for thread in self._threads[: len(self._sinks)]:
            thread.join(2 * _DRAIN_S)
        self._drained.set()
        for thread in self._threads[len(self._sinks) :]:
            thread.join(_DRAIN_S)

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    # -- sources ----------------------------------------------------------------------------------

    def _read(self, component: Component, source: Source, deliver: Deliver) -> None:
        try:
            source.run(deliver)
        except Exception as fault:
            self._failed(f"source {component.name} has failed", fault)
        finally:
            self._quiet.release()
            self._drained.wait()
        try:
            source.close()
        except Exception as fault:
            self._failed(f"source {component.name} could not commit", fault)

    def _failed(self, what: str, fault: Exception) -> None:
        self._around.tell(f"{what}: {fault}")
        self.fault = self.fault or fault
        self.ended.set()

    def _deliver_of(self, component: Component) -> Deliver:
        chain = [
            interceptor(component.settings.below(f"interceptors.{name}."), self._around.clock)
            for name in component.settings.names("interceptors")
        ]
        fed = [self._channels[name] for name in component.channels]
        kind = component.settings.text("selector.type", "replicating")
        if kind.lower() != "replicating":
            raise component.settings.wrong("selector.type", "replicating")

        def deliver(events: Sequence[Event]) -> None:
            kept = [event for event in (_intercepted(chain, each) for each in events) if event]
            for event in kept:
                event.receipt.expect(len(fed) - 1)
            for channel in fed:
                step = channel.transaction_capacity
                for start in range(0, len(kept), step):
                    self._put(channel, kept[start : start + step])

        return deliver

    def _put(self, channel: MemoryChannel, events: list[Event]) -> None:
        while True:
            try:
                channel.put(events)
                return
            except ChannelFull as full:
                if self._around.stopping.is_set():
                    return  # they are not settled, so they are read again
                self._around.tell(str(full))

    # -- sinks ------------------------------------------------------------------------------------

    def _drain(self, component: Component, sink: Sink) -> None:
        channel = self._channels[component.channels[0]]
        pause_s = 0.0
        while not (self._sources_are_quiet.is_set() and (pause_s or not len(channel))):
            taking = channel.take(sink.batch_size, _LOOK_S)
            fault = _fault_of(partial(sink.write, taking.events)) if taking.events else None
            if fault is None:
                taking.commit()
            else:
                taking.rollback()
            # What is due elsewhere is not part of the transaction, whichever of them fails.
            fault = fault or _fault_of(sink.tick)
            if fault is None:
                pause_s = 0.0
                continue
            pause_s = min(max(2 * pause_s, _FIRST_PAUSE_S), _MOST_PAUSE_S)
            self._around.tell(f"sink {component.name}, again in {pause_s:g} s: {fault}")
            self._sources_are_quiet.wait(pause_s)
        try:
            sink.close()
        except Exception as fault:
            self._failed(f"sink {component.name} could not close its files", fault)


def _fault_of(work: Callable[[], None]) -> Exception | None:
    try:
        work()
    except Exception as fault:  # of any kind: the sink tries again
        return fault
    return None


def _intercepted(chain: Sequence[Interceptor], event: Event) -> Event | None:
    made: Event | None = event
    for each in chain:
        if made is not None:
            made = each(made)
    if made is None:
        event.receipt.settle()
        return None
    return made if made.receipt is event.receipt else made.but(receipt=event.receipt)
