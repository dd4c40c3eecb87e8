"""`headrace doctor`: find the usual faults before a user has to search for them.

Each module checks one thing and yields findings; the command prints them as they come, because
some checks wait for a time-out. Without options all of them run, against what runs on this machine
by default; an option names something else, and then only what is named is checked.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from headrace.cli.doctor.findings import Finding, Level
from headrace.cli.doctor.machine import examine_machine
from headrace.cli.doctor.network import examine_cluster
from headrace.cli.doctor.pipelines import examine_java, examine_spark
from headrace.cli.doctor.ports import examine_port
from headrace.cli.doctor.services import examine_registry, examine_rest
from headrace.cli.doctor.settings import examine_config
from headrace.cli.doctor.storage import examine_folder
from headrace.cli.lines import counted
from headrace.cli.options import (
    DEFAULT_SERVERS,
    NONE_GIVEN,
    SERVER_FLAGS,
    OutputOption,
    Properties,
)
from headrace.cli.output import Output, emit
from headrace.cli.parameters import option
from headrace.cli.reach import find_fault
from headrace.cli.schema.registry import DEFAULT_URL, mark_given
from headrace.cli.target import Address, parse_target
from headrace.cli.up import DEFAULT_PORTS, REGISTRY, REST, default_data

LOCAL: Final = "127.0.0.1"

_COLOURS: Final = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}
_EPILOG: Final = """\b
Examples:
  headrace doctor
  headrace doctor -b kafka.example.com:9092 --registry http://registry.example.com:8081
  headrace doctor --config server.properties"""

ServersOption = Annotated[
    str | None,
    typer.Option(
        *SERVER_FLAGS,
        metavar="HOST:PORT,…",
        help="Check the cluster behind these addresses.",
    ),
]
DataOption = Annotated[Path | None, option("--data DIR", "Check this data folder.")]
ConfigOption = Annotated[
    Path | None, option("--config FILE", "Check this server.properties and what it names.")
]
RegistryOption = Annotated[
    str | None, option("--registry -r URL,…", "Check this schema registry.", callback=mark_given)
]
RestOption = Annotated[str | None, option("--rest URL", "Check this REST Proxy.")]


class Given(NamedTuple):
    """What the options name."""

    servers: str | None
    registry: str | None
    rest: str | None
    data: Path | None
    config: Path | None
    properties: list[str]


def doctor(
    servers: ServersOption = None,
    registry: RegistryOption = None,
    rest: RestOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    properties: Properties = NONE_GIVEN,
    output: OutputOption = Output.TABLE,
) -> int:
    """Check what usually goes wrong: ports, addresses, TLS, disks, limits, Java, Spark, services.

    Exit code 1 if a check failed.
    """
    findings = []
    for finding in _examine(Given(servers, registry, rest, data, config, properties)):
        findings.append(finding)
        if output is Output.TABLE:
            print(_line(finding), flush=True)
    failed = sum(finding.level is Level.FAIL for finding in findings)
    warned = sum(finding.level is Level.WARN for finding in findings)
    if output is Output.TABLE:
        counts = {"check": len(findings), "warning": warned, "failure": failed}
        print(", ".join(counted(number, noun) for noun, number in counts.items()))
    else:
        rows = [finding._asdict() | {"level": finding.level.value} for finding in findings]
        emit(rows, output, str)
    return 1 if failed else 0


def _examine(given: Given) -> Iterator[Finding]:
    if given.config is not None:
        yield from examine_config(given.config)
    if given.data is not None:
        yield from examine_folder(given.data)
    if given.config is not None or given.data is not None:
        yield from examine_machine()
    if not any(given[:-1]):
        yield from _examine_defaults(given.properties)
        return
    target = parse_target(given.servers or DEFAULT_SERVERS, given.properties)
    if given.servers is not None:
        yield from examine_cluster(target)
    if given.registry is not None:
        yield from examine_registry(given.registry, target.registry_properties)
    if given.rest is not None:
        yield from examine_rest(given.rest)


def _examine_defaults(properties: list[str]) -> Iterator[Finding]:
    """This machine, and what the environment names or else runs on the default ports."""
    yield from examine_machine()
    yield from examine_java(os.environ)
    yield from examine_spark()
    yield from examine_folder(Path(default_data(os.environ)))
    servers = os.environ.get("HEADRACE_BOOTSTRAP_SERVERS")
    target = parse_target(servers or DEFAULT_SERVERS, properties)
    if servers is not None or find_fault(target.addresses[0], tls=False) is None:
        yield from examine_cluster(target)
    else:
        # Perhaps no broker should run here now; then one must be able to start.
        yield examine_port(target.addresses[0])
    registry = os.environ.get("SCHEMA_REGISTRY_URL")
    if registry or _listens(DEFAULT_PORTS[REGISTRY]):
        yield from examine_registry(registry or DEFAULT_URL, target.registry_properties)
    else:
        yield examine_port(Address(LOCAL, DEFAULT_PORTS[REGISTRY]))
    if _listens(DEFAULT_PORTS[REST]):
        yield from examine_rest(f"http://{LOCAL}:{DEFAULT_PORTS[REST]}")
    else:
        yield examine_port(Address(LOCAL, DEFAULT_PORTS[REST]))


def _listens(port: int) -> bool:
    try:
        socket.create_connection((LOCAL, port), timeout=1).close()
    except OSError:
        return False
    return True


def _line(finding: Finding) -> str:
    label = finding.level.value.ljust(4)
    if sys.stdout.isatty():
        label = typer.style(label, fg=_COLOURS[finding.level], bold=True)
    # Words that other commands use too name the address themselves.
    named = finding.text.startswith(finding.subject)
    line = f"{label}  {finding.text if named else f'{finding.subject}: {finding.text}'}"
    return f"{line}; {finding.remedy}" if finding.remedy else line


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(doctor)
