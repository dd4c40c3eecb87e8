"""`schema-registry-start` and `kafka-rest-start`: the services with a properties file, alone.

As Confluent's do, they first show the settings that they were given, on stderr: standard output has
the line that says where the service is ready.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from headrace.cli.failures import WrongUsage
from headrace.cli.kafka_compat.flags import read_properties


def schema_registry(words: list[str]) -> int:
    from headrace.registry.__main__ import main

    if _show("schema-registry-start", "SchemaRegistryConfig", words):
        return main()
    return 0


def kafka_rest(words: list[str]) -> int:
    from headrace.rest.__main__ import main

    if _show("kafka-rest-start", "KafkaRestConfig", words):
        return main()
    return 0


def _show(name: str, config: str, words: list[str]) -> bool:
    """Show the settings; false if help was all that was wanted."""
    file = name.replace("start", "properties").replace("-properties", ".properties")
    if "--help" in words or "-h" in words:
        print(f"Usage: {name} [{file}] [--set KEY=VALUE …]\n\nExample: {name} {file}")
        return False
    if "-daemon" in words:
        raise WrongUsage("-daemon is not supported", f"use your init system, or {name} … &")
    lines = [f"\t{key} = {value}" for key, value in sorted(_given(words).items())]
    print("\n".join([f"{config} values:", *lines]), file=sys.stderr, flush=True)
    return True


def _given(words: list[str]) -> Mapping[str, str]:
    """What the file and `--set` say; the service checks it, and passwords stay untold."""
    given: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word.startswith("--set"):
            pair = word.partition("=")[2] if "=" in word else next(rest, "")
            key, _, value = pair.partition("=")
            given[key] = value
        elif not word.startswith("-"):
            given = {**read_properties(word), **given}
    return {
        key: "[hidden]" if "password" in key or "jaas" in key or "user.info" in key else value
        for key, value in given.items()
    }
