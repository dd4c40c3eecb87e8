"""What the verifiable tools say: one JSON object per line, its time and its name first."""

from __future__ import annotations

import json
import time
from typing import Any

from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.flags import Given
from headrace.cli.small_files import read_properties


def emit(name: str, **fields: Any) -> None:
    """Print one event."""
    event = {"timestamp": time.time_ns() // 1_000_000, "name": name, **fields}
    print(json.dumps(event, separators=(",", ":"), ensure_ascii=False), flush=True)


def configured(given: Given, old: str) -> dict[str, str]:
    """The settings of a file, under the new flag or the old one."""
    if given.has(old) and given.has("--command-config"):
        raise Told(f"Options {old} and --command-config are mutually exclusive.")
    if given.has(old):
        print(
            f"Option {old} has been deprecated and will be removed in a future version. "
            "Use --command-config instead.",
            flush=True,
        )
    path = given.text("--command-config", old)
    return {} if path is None else read_properties(path)
