"""A standalone worker in the foreground, with a line on standard output for each event.

A task that fails says why on standard error and is left alone, as in Connect; a connector that
cannot be created ends the worker.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from headrace.cli.failures import DEBUG, Failure
from headrace.cli.kafka_compat.signals import Stopped, stoppable

_NOT_CREATED: Final = 3
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


def serve(settings: Mapping[str, str], connectors: Iterable[tuple[str, Mapping[str, str]]]) -> int:
    """Run connectors, each with where its settings are from, until a signal comes."""
    try:
        from headrace.pipelines.connect.faults import ConfigException, ConnectException
        from headrace.pipelines.connect.group.protocol import TaskId
        from headrace.pipelines.connect.state.records import State
        from headrace.pipelines.connect.worker.standalone import Standalone
        from headrace.runtime.clock import SystemClock
    except ModuleNotFoundError as missing:
        raise needs_extra(missing) from missing

    level = logging.DEBUG if DEBUG.get() else logging.WARNING
    logging.basicConfig(stream=sys.stderr, level=level, format="%(message)s")
    events: SimpleQueue[tuple[str, str | None]] = SimpleQueue()

    def tell(task: TaskId, state: State, trace: str | None) -> None:
        events.put((f"task {task}: {state.value}", trace))

    try:
        worker = Standalone(settings, SystemClock(), tell)
    except (ConfigException, ConnectException) as fault:
        raise Failure(str(fault), "correct the worker's settings") from fault
    print("Connect worker ready", flush=True)
    try:
        with stoppable():
            for where, config in connectors:
                try:
                    tasks = worker.create(config)
                except (ConfigException, ConnectException) as fault:
                    raise NotCreated(f"the connector of {where} cannot be: {fault}") from fault
                print(f"connector {config['name']}: tasks {len(tasks)}", flush=True)
            while True:
                with suppress(Empty):
                    _show(*events.get(timeout=_LOOK_S))
    except Stopped as stopped:
        return stopped.exit_code
    finally:
        worker.stop()


def _show(event: str, trace: str | None) -> None:
    print(event, flush=True)
    if trace is not None:
        shown = trace if DEBUG.get() else trace.strip().splitlines()[-1].partition(": ")[2]
        print(shown, file=sys.stderr, flush=True)
