"""`connect-standalone`: connectors from files, in one process that keeps offsets in a file.

    connect-standalone connect-standalone.properties [connector.properties | connector.json]…

Each line on standard output is an event: the worker, a connector, a task's state. A task that fails
says why and is left alone, as in Connect; a connector that cannot be created ends the worker.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from typing import Final

from headrace.cli.failures import DEBUG, Failure, WrongUsage
from headrace.cli.kafka_compat.signals import Stopped, stoppable
from headrace.cli.small_files import read_properties, read_text

USAGE: Final = (
    "USAGE: connect-standalone connect-standalone.properties "
    "[connector1.properties connector2.json ... connectorN.properties]"
)
_NOT_CREATED: Final = 3


class NotCreated(Failure):
    """A connector cannot be what its file says."""

    exit_code = _NOT_CREATED


def run(words: list[str]) -> int:
    """Run until it is told to stop."""
    if "--help" in words:
        print(USAGE)
        return 0
    if "-daemon" in words:
        raise WrongUsage("-daemon is not supported", "use your init system, or add & to the line")
    if not words:
        raise WrongUsage("no file of the worker's settings is given", USAGE)
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG if DEBUG.get() else logging.WARNING)
    settings = read_properties(words[0])
    connectors = [(path, read_connector(path)) for path in words[1:]]
    return _serve(settings, connectors)


def read_connector(path: str) -> dict[str, str]:
    """A connector's settings: properties, or JSON as the REST API takes it, or their object."""
    if not path.endswith(".json"):
        return read_properties(path)
    try:
        told = json.loads(read_text(path))
    except ValueError as fault:
        raise Failure(f"{path} cannot be read as JSON: {fault}", "correct the file") from fault
    if isinstance(told, dict) and isinstance(told.get("config"), dict):
        told = {"name": told.get("name"), **told["config"]}
    if not isinstance(told, dict):
        raise Failure(f"{path} holds no object", 'write {"name": …, "config": {…}}')
    return {name: str(value) for name, value in told.items() if value is not None}


def _serve(settings: Mapping[str, str], connectors: list[tuple[str, dict[str, str]]]) -> int:
    from headrace.pipelines.connect.faults import ConfigException, ConnectException
    from headrace.pipelines.connect.host.task import State, TaskId
    from headrace.pipelines.connect.worker.standalone import Standalone
    from headrace.runtime.clock import SystemClock

    def tell(task: TaskId, state: State, trace: str | None) -> None:
        print(f"task {task} is {state.value}", flush=True)
        if trace is not None:
            print(trace if DEBUG.get() else trace.strip().splitlines()[-1], file=sys.stderr)

    try:
        worker = Standalone(settings, SystemClock(), tell)
    except (ConfigException, ConnectException) as fault:
        raise Failure(str(fault), "correct the worker's properties") from fault
    print(
        f"Connect worker ready, offsets in {settings['offset.storage.file.filename']}", flush=True
    )
    try:
        with stoppable():
            for path, config in connectors:
                try:
                    tasks = worker.create(config)
                except (ConfigException, ConnectException) as fault:
                    raise NotCreated(
                        f"the connector of {path} cannot be created: {fault}"
                    ) from fault
                print(f"connector {config['name']} has {len(tasks)} tasks", flush=True)
            worker.wait()
    except Stopped as stopped:
        return stopped.exit_code
    finally:
        worker.stop()
    return 0
