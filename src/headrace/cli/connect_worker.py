"""A worker in the foreground, alone or of a cluster; it says on standard output when it is ready.

A standalone one has a line for each event. A task of it that fails says why on standard error and
is left alone, as in Connect; a connector that cannot be created ends the worker.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import DEBUG, Failure
from headrace.cli.kafka_compat.signals import Stopped, stoppable
from headrace.errors import ConfigError, HeadraceError

if TYPE_CHECKING:
    from headrace.pipelines.connect.api.service import ConnectService
    from headrace.pipelines.connect.worker.standalone import Standalone
    from headrace.pipelines.connect.worker.worker import Worker

_NOT_CREATED: Final = 3
_CORRECT: Final = "correct the worker's settings"
_JOIN_S: Final = 60.0
_STEP_S: Final = 0.02
_LOOK_S: Final = 0.2
"""Polars has interrupted calls go on, so a signal is noticed only between two of them."""


class NotCreated(Failure):
    """A connector cannot be what its settings say."""

    exit_code = _NOT_CREATED


def needs_extra(missing: ModuleNotFoundError) -> Failure:
    """What to tell somebody who has installed Headrace without Connect."""
    return Failure(
        f"Connect needs the package {missing.name}",
        'pip install "headrace[connect]"; in a clone: make setup-dev',
    )


def serve(
    settings: Mapping[str, str],
    connectors: Iterable[tuple[str, Mapping[str, str]]],
    *,
    rest: bool = False,
) -> int:
    """Run connectors, each with where its settings are from, until a signal comes."""
    try:
        from headrace.pipelines.connect.faults import ConfigException, ConnectException
        from headrace.pipelines.connect.group.protocol import TaskId
        from headrace.pipelines.connect.state.records import State
        from headrace.pipelines.connect.worker.standalone import Standalone
        from headrace.runtime.clock import SystemClock
    except ModuleNotFoundError as missing:
        raise needs_extra(missing) from missing

    _configure_logs()
    events: SimpleQueue[tuple[str, str | None]] = SimpleQueue()

    def tell(task: TaskId, state: State, trace: str | None) -> None:
        events.put((f"task {task}: {state.value}", trace))

    with ExitStack() as running:
        try:
            worker = Standalone(settings, SystemClock(), tell)
        except (ConfigException, ConnectException) as fault:
            raise Failure(str(fault), _CORRECT) from fault
        running.callback(worker.stop)
        if rest:
            _announce(running.enter_context(_served(_standalone_service(worker))))
        else:
            print("Connect worker ready", flush=True)
        try:
            with stoppable():
                for place, config in connectors:
                    print(_created(worker, place, config), flush=True)
                while True:
                    with suppress(Empty):
                        _show(*events.get(timeout=_LOOK_S))
        except Stopped as stopped:
            return stopped.exit_code


def _announce(url: str) -> None:
    print(f"Connect worker ready on {url}", flush=True)


def serve_distributed(
    settings: Mapping[str, str], announce: Callable[[str], None] = _announce
) -> int:
    """Be a worker of a cluster until a signal comes."""
    try:
        from headrace.pipelines.connect.api.service import ConnectService
        from headrace.pipelines.connect.faults import ConfigException, ConnectException
        from headrace.pipelines.connect.worker.distributed import Distributed
        from headrace.runtime.clock import SystemClock
    except ModuleNotFoundError as missing:
        raise needs_extra(missing) from missing

    _configure_logs()
    try:
        worker = Distributed(settings, SystemClock())
        service = ConnectService(worker.at, worker.settings, worker.providers, worker.loggers)
        with stoppable(), ExitStack() as running:
            where = running.enter_context(_served(service))
            running.callback(worker.stop)
            worker.start()
            joined_by = time.monotonic() + _JOIN_S
            while worker.trouble() is not None and time.monotonic() < joined_by:
                time.sleep(_STEP_S)  # whoever reads that it is ready may create a connector
            announce(where)
            while True:
                time.sleep(_LOOK_S)
    except (ConfigException, ConnectException, HeadraceError) as fault:
        raise Failure(str(fault), _CORRECT) from fault
    except Stopped as stopped:
        return stopped.exit_code


def _configure_logs() -> None:
    level = logging.DEBUG if DEBUG.get() else logging.WARNING
    logging.basicConfig(stream=sys.stderr, level=level, format="%(message)s")


def _standalone_service(worker: Standalone) -> ConnectService:
    from headrace.pipelines.connect.api.service import ConnectService

    def at(url: str) -> Worker:
        worker.id = url.partition("://")[2].rstrip("/")
        return worker

    return ConnectService(at, worker.settings, worker.providers, worker.loggers)


@contextmanager
def _served(service: ConnectService) -> Iterator[str]:
    """The REST API of a worker, while the block lasts; yields its address."""
    from headrace.pipelines.connect.api.service import serving

    beside = serving(service)
    try:
        beside.start()
    except ConfigError as fault:
        raise Failure(
            str(fault), "set listeners in the worker's file, such as listeners=http://:8084"
        ) from fault
    try:
        yield service.address
    finally:
        beside.stop()


def _created(worker: Standalone, place: str, config: Mapping[str, str]) -> str:
    """Create a connector; what to say of it."""
    from headrace.pipelines.connect.config.report import faults
    from headrace.pipelines.connect.faults import ConfigException, ConnectException

    try:
        found = faults(worker.validate(config))
        if not found:
            made = worker.create(config["name"], config, None)
            return f"connector {made.name}: tasks {len(made.tasks)}"
    except (ConfigException, ConnectException) as fault:
        raise NotCreated(f"the connector of {place} cannot be: {fault}") from fault
    raise NotCreated(f"the connector of {place} has {len(found)} error(s): {'; '.join(found)}")


def _show(event: str, trace: str | None) -> None:
    print(event, flush=True)
    if trace is not None:
        shown = trace if DEBUG.get() else trace.strip().splitlines()[-1].partition(": ")[2]
        print(shown, file=sys.stderr, flush=True)
