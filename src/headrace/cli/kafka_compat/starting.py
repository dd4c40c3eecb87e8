"""`schema-registry-start` and `kafka-rest-start`: the services with a properties file, alone.

As Confluent's do, they first show the settings that they were given, on stderr: standard output has
the line that says where the service is ready.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from headrace.cli.failures import WrongUsage


def schema_registry(words: list[str]) -> int:
    from headrace.registry.__main__ import FILE, run

    return run(_shown("schema-registry-start", FILE, "SchemaRegistryConfig", words))


def kafka_rest(words: list[str]) -> int:
    from headrace.rest.__main__ import FILE, run

    return run(_shown("kafka-rest-start", FILE, "KafkaRestConfig", words))


def _shown(name: str, file: str, config: str, words: list[str]) -> Mapping[str, str]:
    """The settings, after they were shown; passwords stay untold."""
    from headrace.http.arguments import read_arguments

    if "-daemon" in words:
        raise WrongUsage("-daemon is not supported", f"use your init system, or {name} … &")
    given = read_arguments(name, file, words)
    lines = [
        f"\t{key} = {'[hidden]' if _is_secret(key) else value}"
        for key, value in sorted(given.items())
    ]
    print("\n".join([f"{config} values:", *lines]), file=sys.stderr, flush=True)
    return given


def _is_secret(key: str) -> bool:
    return "password" in key or "jaas" in key or "user.info" in key
