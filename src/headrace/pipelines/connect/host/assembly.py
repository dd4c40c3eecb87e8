"""A task put together from its settings: what to run, and the parts that it runs on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from headrace.client.cluster import Cluster
from headrace.client.producing import RawProducer
from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.converters.named import named
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.clients import (
    connection_of,
    consumption_of,
    output_of,
    producer_connection_of,
    properties_of,
)
from headrace.pipelines.connect.host.dead_letters import DeadLetters
from headrace.pipelines.connect.host.new_topics import TopicCreation
from headrace.pipelines.connect.host.output import Create, Output
from headrace.pipelines.connect.host.sink_loop import SinkParts, run_sink
from headrace.pipelines.connect.host.sink_records import Consumed, SinkRecords
from headrace.pipelines.connect.host.source_loop import OffsetStore, SourceParts, run_source
from headrace.pipelines.connect.host.source_records import Converters, Named, SourceRecords
from headrace.pipelines.connect.host.task import LoopContext
from headrace.pipelines.connect.host.tolerance import ErrorSettings, Failure, Tolerance
from headrace.pipelines.connect.tasks import SinkTask, SourceTask, Task, connector_of
from headrace.pipelines.connect.transforms.chain import read_chain
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
_SIMPLE_HEADERS: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

Run = Callable[[Callable[[], None]], None]
"""Runs a task to its end; calls the argument when it has begun."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What is known of a task: its settings as the connector divided them, and the worker's."""

    id: TaskId
    config: Mapping[str, str]
    worker: Mapping[str, str]
    offsets: OffsetStore
    flush_interval_ms: int = 60_000


def assembled(spec: TaskSpec, context: LoopContext, clock: Clock) -> Run:
    """The task, ready to run. ConfigException or ConnectException: it cannot be."""
    kind = plugins.find(spec.config[keys.CLASS]).load()
    task = kind()
    if isinstance(task, SourceTask):
        return partial(run_source, _source(spec, task, context, clock))
    if isinstance(task, SinkTask):
        return partial(run_sink, _sink(spec, task, context, clock))
    raise ConnectException(f"{kind.__qualname__} is neither a SourceTask nor a SinkTask")


def _source(spec: TaskSpec, task: SourceTask, context: LoopContext, clock: Clock) -> SourceParts:
    settings = keys.SOURCE.read(spec.config)
    tolerance = Tolerance(_errors(settings), clock, context.wait, str(spec.id))
    chain = read_chain(spec.config, for_sink=False, transforms=plugins.transforms(spec.config))
    converters = _converters(spec)
    admin = connection_of(properties_of("admin", spec.worker, spec.config), f"{spec.id}-admin")
    output = _output(spec, create=TopicCreation(spec.config, admin).create)
    return SourceParts(
        task,
        connector_of(type(task)).settings.of(spec.config),
        context,
        SourceRecords(chain, converters, tolerance),
        output,
        spec.offsets,
        clock,
        spec.flush_interval_ms,
        partial(_close_all, (output, *converters.all)),
    )


def _sink(spec: TaskSpec, task: SinkTask, context: LoopContext, clock: Clock) -> SinkParts:
    settings = keys.SINK.read(spec.config)
    tolerance = Tolerance(_errors(settings), clock, context.wait, str(spec.id))
    letters = _dead_letters(spec, settings)

    def on_failed(read: Consumed, failure: Failure) -> None:
        if letters is not None:
            letters.report(read, failure)
        tolerance.drop(failure, f"{read.place} at offset {read.offset}", lambda: repr(read))

    properties = properties_of("consumer", spec.worker, spec.config)
    chain = read_chain(spec.config, for_sink=True, transforms=plugins.transforms(spec.config))
    converters = _converters(spec)
    return SinkParts(
        task,
        connector_of(type(task)).settings.of(spec.config),
        context,
        SinkRecords(chain, converters, tolerance, on_failed),
        connection_of(properties, f"connector-consumer-{spec.id}"),
        consumption_of(properties, spec.id.connector, settings),
        on_failed,
        clock,
        _name_of(task),
        spec.flush_interval_ms,
        (lambda: None) if letters is None else letters.flush,
        partial(_close_all, (*converters.all, *(() if letters is None else (letters,)))),
    )


class _Closeable(Protocol):
    def close(self) -> None: ...


def _close_all(parts: tuple[_Closeable, ...]) -> None:
    with ExitStack() as stack:
        for part in parts:
            stack.callback(part.close)


def _name_of(task: Task) -> str:
    return connector_of(type(task)).name


def _errors(settings: Mapping[str, object]) -> ErrorSettings:
    return ErrorSettings(
        tolerates_all=str(settings["errors.tolerance"]).lower() == "all",
        retry_timeout_ms=int(str(settings["errors.retry.timeout"])),
        retry_delay_max_ms=int(str(settings["errors.retry.delay.max.ms"])),
        logs=settings["errors.log.enable"] is True,
        logs_messages=settings["errors.log.include.messages"] is True,
    )


def _converters(spec: TaskSpec) -> Converters:
    return Converters(*(_converter(spec, name) for name in keys.CONVERTERS))


def _converter(spec: TaskSpec, name: str) -> Named:
    """The connector's converter with its settings, or the worker's with the worker's."""
    owner = spec.config if spec.config.get(name) else spec.worker
    class_name = owner.get(name, _SIMPLE_HEADERS)
    prefix = f"{name}."
    given: dict[str, object] = {
        key.removeprefix(prefix): value for key, value in owner.items() if key.startswith(prefix)
    }
    return Named(class_name, named(class_name).made(given, name.partition(".")[0]))


def _output(spec: TaskSpec, suffix: str = "", create: Create = lambda topic: False) -> Output:
    properties = properties_of("producer", spec.worker, spec.config)
    cluster = Cluster(producer_connection_of(properties, f"connector-producer-{spec.id}{suffix}"))
    settings = output_of(properties)
    producer = RawProducer(cluster, max_request_bytes=settings.request_bytes)
    return Output(cluster, producer, settings, create)


def _dead_letters(spec: TaskSpec, settings: Mapping[str, object]) -> DeadLetters | None:
    topic = settings[keys.DEAD_LETTERS]
    if not topic:
        return None
    explains = settings["errors.deadletterqueue.context.headers.enable"] is True
    output = _output(spec, "-dlq")
    return DeadLetters(output, str(topic), spec.id, explains=explains)
