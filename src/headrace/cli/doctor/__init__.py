"""`headrace doctor`: find the usual faults before a user has to search for them.

Each room looks at one thing and yields findings; the command prints them as they come, because
some looks wait for a time-out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from headrace.cli.doctor.findings import Finding, Level
from headrace.cli.doctor.machine import examine_machine
from headrace.cli.doctor.network import examine_cluster
from headrace.cli.doctor.ports import examine_port
from headrace.cli.doctor.settings import examine_config
from headrace.cli.doctor.storage import examine_folder
from headrace.cli.options import DEFAULT_SERVERS, NONE_GIVEN, OutputOption, Properties
from headrace.cli.output import Output, emit
from headrace.cli.reach import find_fault
from headrace.cli.target import parse_address, parse_target
from headrace.cli.up import default_data

_COLOURS: Final = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}
_EPILOG: Final = """\b
Examples:
  headrace doctor
  headrace doctor -b kafka.example.com:9092
  headrace doctor --config server.properties"""

ServersOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        metavar="HOST:PORT,…",
        help="Examine the cluster behind these addresses.",
    ),
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Examine this data folder.")
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Examine this server.properties and all in it."),
]


def doctor(
    servers: ServersOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    properties: Properties = NONE_GIVEN,
    output: OutputOption = Output.TABLE,
) -> int:
    """Look for the usual faults: ports, addresses, TLS, disks, limits. Exit 1 if one is found."""
    findings = []
    for finding in _examine(servers, data, config, properties):
        findings.append(finding)
        if output is Output.TABLE:
            print(_line(finding), flush=True)
    failed = sum(finding.level is Level.FAIL for finding in findings)
    warned = sum(finding.level is Level.WARN for finding in findings)
    if output is Output.TABLE:
        print(f"{len(findings)} looks, {warned} warnings, {failed} faults")
    else:
        rows = [finding._asdict() | {"level": finding.level.value} for finding in findings]
        emit(rows, output, str)
    return 1 if failed else 0


def _examine(
    servers: str | None, data: Path | None, config: Path | None, properties: list[str]
) -> Iterator[Finding]:
    if servers is None and data is None and config is None:
        yield from examine_machine()
        yield from examine_folder(Path(default_data(os.environ)))
        servers = os.environ.get("HEADRACE_BOOTSTRAP_SERVERS")
        if servers is None:
            address = parse_address(DEFAULT_SERVERS)
            if find_fault(address, tls=False) is not None:
                # Nobody promised that a broker runs; what matters then is that one could.
                yield examine_port(address)
                return
            servers = DEFAULT_SERVERS
    if config is not None:
        yield from examine_config(config)
    if data is not None:
        yield from examine_folder(data)
    if config is not None or data is not None:
        yield from examine_machine()
    if servers is not None:
        yield from examine_cluster(parse_target(servers, properties))


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
