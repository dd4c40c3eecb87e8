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
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.converters.named import named
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.clients import (
    connection_of,
    consumption_of,
    output_of,
    producer_connection_of,
    properties_of,
    transaction_timeout_ms_of,
)
from headrace.pipelines.connect.host.dead_letters import DeadLetters
from headrace.pipelines.connect.host.new_topics import TopicCreation
from headrace.pipelines.connect.host.output import Create, Output
from headrace.pipelines.connect.host.sink_loop import SinkParts, run_sink
from headrace.pipelines.connect.host.sink_records import Consumed, SinkRecords
from headrace.pipelines.connect.host.source_loop import (
    AtLeastOnce,
    OffsetStore,
    SourceLoop,
    SourceParts,
)
from headrace.pipelines.connect.host.source_records import Converters, Named, SourceRecords
from headrace.pipelines.connect.host.task import LoopContext, Report
from headrace.pipelines.connect.host.tolerance import ErrorSettings, Failure, Tolerance
from headrace.pipelines.connect.host.transactional_loop import (
    Boundary,
    ExactlyOnce,
    TransactionalOffsets,
)
from headrace.pipelines.connect.java.found import look_in
from headrace.pipelines.connect.tasks import SinkTask, SourceTask, Task, connector_of
from headrace.pipelines.connect.transforms.chain import Chain, read_chain
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_SIMPLE_HEADERS: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

Run = Callable[[Report], None]
"""Runs a task to its end; the argument hears that it has begun, or rests."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What is known of a task: its settings as the connector divided them, and the worker's.

    A source with a `transactional_id` writes in transactions; its offsets must then be
    `TransactionalOffsets`. A task that is `paused` waits to be resumed before it opens.
    """

    id: TaskId
    config: Mapping[str, str]
    worker: Mapping[str, str]
    offsets: OffsetStore | TransactionalOffsets
    flush_interval_ms: int = 60_000
    transactional_id: str | None = None
    paused: bool = False


def assembled(spec: TaskSpec, context: LoopContext, clock: Clock) -> Run:
    """The task, ready to run. ConfigException or ConnectException: it cannot be."""
    look_in(spec.worker)
    kind = plugins.find(spec.config[keys.CLASS]).load()
    task = kind()
    if isinstance(task, SourceTask):
        return _source(spec, task, context, clock).run
    if isinstance(task, SinkTask):
        return partial(run_sink, _sink(spec, task, context, clock))
    raise ConnectException(f"{kind.__qualname__} is neither a SourceTask nor a SinkTask")


def _source(spec: TaskSpec, task: SourceTask, context: LoopContext, clock: Clock) -> SourceLoop:
    settings = keys.SOURCE.read(spec.config)
    tolerance = Tolerance(_errors(settings), clock, context.wait, str(spec.id))
    chain, converters = _way(spec, task, for_sink=False)
    admin = connection_of(properties_of("admin", spec.worker, spec.config), f"{spec.id}-admin")
    create = TopicCreation(spec.config, admin).create
    output = _output(spec, create=create, transactional_id=spec.transactional_id)
    parts = SourceParts(
        task,
        _settings(spec, task),
        context,
        SourceRecords(chain, converters, tolerance),
        output,
        spec.offsets.read,
        clock,
        spec.flush_interval_ms,
        partial(_close_all, (output, *converters.all)),
    )
    offsets = spec.offsets
    if spec.transactional_id is None:
        assert isinstance(offsets, OffsetStore), "the store keeps the offsets"
        return AtLeastOnce(parts, offsets)
    assert isinstance(offsets, TransactionalOffsets), "the task's producer keeps the offsets"
    timeout_ms = transaction_timeout_ms_of(properties_of("producer", spec.worker, spec.config))
    boundary = Boundary.of(settings, spec.flush_interval_ms, timeout_ms)
    return ExactlyOnce(parts, offsets, boundary)


def _sink(spec: TaskSpec, task: SinkTask, context: LoopContext, clock: Clock) -> SinkParts:
    settings = keys.SINK.read(spec.config)
    tolerance = Tolerance(_errors(settings), clock, context.wait, str(spec.id))
    letters = _dead_letters(spec, settings)

    def on_failed(read: Consumed, failure: Failure) -> None:
        if letters is not None:
            letters.report(read, failure)
        tolerance.drop(failure, f"{read.place} at offset {read.offset}", lambda: repr(read))

    properties = properties_of("consumer", spec.worker, spec.config)
    chain, converters = _way(spec, task, for_sink=True)
    return SinkParts(
        task,
        _settings(spec, task),
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


def _settings(spec: TaskSpec, task: Task) -> Config:
    """The task's settings; of one that converts by itself, the worker's converters among them."""
    given = dict(spec.config)
    for name in keys.CONVERTERS if task.takes_bytes else ():
        if not spec.config.get(name):
            given |= {
                key: value
                for key, value in spec.worker.items()
                if key == name or key.startswith(f"{name}.")
            }
    return connector_of(type(task)).settings.of(given)


def _way(spec: TaskSpec, task: Task, *, for_sink: bool) -> tuple[Chain, Converters]:
    """What happens to records between the task and the topics."""
    if task.takes_bytes:
        return Chain(), Converters(*[Named(_BYTES, named(_BYTES).made({}, "value"))] * 3)
    transforms = plugins.transforms(spec.config)
    chain = read_chain(spec.config, for_sink=for_sink, transforms=transforms)
    return chain, _converters(spec)


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


def _output(
    spec: TaskSpec,
    suffix: str = "",
    create: Create = lambda topic: False,
    transactional_id: str | None = None,
) -> Output:
    properties = properties_of("producer", spec.worker, spec.config)
    cluster = Cluster(producer_connection_of(properties, f"connector-producer-{spec.id}{suffix}"))
    settings = output_of(properties)
    producer = RawProducer(
        cluster,
        transactional_id=transactional_id,
        transaction_timeout_ms=transaction_timeout_ms_of(properties),
        max_request_bytes=settings.request_bytes,
    )
    return Output(cluster, producer, settings, create)


def _dead_letters(spec: TaskSpec, settings: Mapping[str, object]) -> DeadLetters | None:
    topic = settings[keys.DEAD_LETTERS]
    if not topic:
        return None
    explains = settings["errors.deadletterqueue.context.headers.enable"] is True
    output = _output(spec, "-dlq")
    return DeadLetters(output, str(topic), spec.id, explains=explains)
