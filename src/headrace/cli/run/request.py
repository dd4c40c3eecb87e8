"""What a command line asks of a run, as data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from headrace.cli.output import Output
from headrace.cli.run.brokers import Origin


class Connector(StrEnum):
    """How topics are read: by ours, or by the one that Spark's project publishes."""

    HEADRACE = "headrace"
    JAR = "jar"


class RunRequest(NamedTuple):
    pipeline: str
    root: Path
    name: str | None
    master: str | None
    servers: str | None
    servers_by: Origin
    own_broker: bool | None  # None: unless there is another
    settings: Mapping[str, str]
    once: bool
    max_restarts: int
    stop_timeout_s: float
    connector: Connector
    ui: bool | None
    output: Output
    debug: bool


def default_state(environment: Mapping[str, str]) -> Path:
    """Beside the data of `headrace up`, whose own folder holds nothing but partitions."""
    base = environment.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "headrace-pipelines"
