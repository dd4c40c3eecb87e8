"""`headrace cluster`: the brokers of a cluster and what they speak."""

from __future__ import annotations

from typing import Any

import typer

from headrace.admin.settings import topic_settings
from headrace.cli.api_names import api_name
from headrace.cli.asking import connect, explained
from headrace.cli.cluster_status import summarize
from headrace.cli.failures import Failure
from headrace.cli.options import MADE, OutputOption, TargetOptions
from headrace.cli.output import Output, cell, emit, emit_rows, table
from headrace.cli.reach import reach
from headrace.cli.target import Target
from headrace.client.connection import Connection
from headrace.client.probe import trust_anyone
from headrace.errors import HeadraceError

app = typer.Typer(help="Show the brokers of a cluster.")


@app.command(epilog="Example: headrace cluster status --output json")
def status(
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show live brokers, their leaderships, and partitions that are offline or under-replicated."""
    with connect(target) as admin:
        topics = admin.topics()
        found = summarize(
            admin.describe_cluster(),
            topics,
            topic_settings(admin, [topic.name for topic in topics]),
            admin.reassignments(),
        )
    emit(found, output, lambda: _status_as_text(found))


@app.command("id", epilog="Example: headrace cluster id")
def show_id(
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the cluster's id."""
    with connect(target) as admin:
        found = admin.describe_cluster().cluster_id
    emit({"cluster_id": found}, output, lambda: f"{found}\n")


def _status_as_text(found: dict[str, Any]) -> str:
    counts = found["partitions"]
    head = f"cluster {found['cluster_id']}: controller {cell(found['controller'])}, "
    head += f"{found['topics']} topics, {counts['total']} partitions\n"
    ailing = f"{counts['under_replicated']} under-replicated, {counts['offline']} offline, "
    ailing += f"{counts['under_min_isr']} under min ISR, {counts['reassigning']} being reassigned\n"
    columns = ["broker", "host", "port", "rack", "leads", "prefers", "replicas", "state"]
    return head + ailing + table(found["brokers"], columns)


@app.command(epilog="Example: headrace cluster describe -b 127.0.0.1:9092 --output yaml")
def describe(
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the cluster's id, its brokers and the addresses that they advertise."""
    with connect(target) as admin, explained():
        cluster = admin.describe_cluster()
        topics = admin.topics()
    described: dict[str, Any] = {
        "cluster_id": cluster.cluster_id,
        "controller": cluster.controller if cluster.controller >= 0 else None,
        "topics": len(topics),
        "partitions": sum(len(topic.partitions) for topic in topics),
        "brokers": [
            {"broker": each.id, "host": each.host, "port": each.port, "rack": each.rack}
            for each in cluster.brokers
        ],
    }
    emit(described, output, lambda: _as_text(described))


def _as_text(described: dict[str, Any]) -> str:
    head = f"cluster {described['cluster_id']}: controller {described['controller']}, "
    head += f"{described['topics']} topics, {described['partitions']} partitions\n"
    return head + table(described["brokers"], ["broker", "host", "port", "rack"])


@app.command("api-versions", epilog="Example: headrace cluster api-versions --output json")
def api_versions(
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show which versions of each API the first broker that answers serves."""
    reach(target)
    rows = [
        {
            "key": key,
            "api": api_name(key),
            "min_version": versions[0],
            "max_version": versions[-1],
        }
        for key, versions in sorted(_served(target).items())
    ]
    emit_rows(rows, output, ["key", "api", "min_version", "max_version"])


def _served(target: Target) -> dict[int, range]:
    tls = trust_anyone() if target.tls else None
    for address in target.addresses:
        try:
            with Connection(*address, tls=tls) as connection:
                return connection.served()
        except HeadraceError:
            continue
    raise Failure("no broker reports its API versions", 'run "headrace doctor"')
