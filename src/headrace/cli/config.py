"""`headrace config`: read and change the settings of topics and brokers on the fly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import kafka
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import MADE, OutputOption, TargetOptions, parse_pairs
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import argument, option
from headrace.cli.target import Target

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

app = typer.Typer(help="Read and change settings of topics and brokers.")


class Entity(StrEnum):
    """Whose settings they are."""

    TOPIC = "topic"
    BROKER = "broker"


EntityType = Annotated[Entity, argument("topic|broker")]
EntityName = Annotated[str, argument("NAME", "A topic, or a broker's id.")]


def _resource(entity: str, name: str) -> Any:
    if entity == Entity.BROKER and not name.isdigit():
        raise WrongUsage(f'"{name}" is not a broker id', 'see "headrace cluster describe"')
    api = kafka.admin_api()
    kind = api.ResourceType.BROKER if entity == Entity.BROKER else api.ResourceType.TOPIC
    return api.ConfigResource(kind, name)


def _open(target: Target, entity: str, name: str) -> AdminClient:
    """A misspelt topic or broker is answered with those there are, before anything is tried."""
    _resource(entity, name)
    admin = kafka.open_admin(target)
    metadata = kafka.read_metadata(admin, target)
    if entity == Entity.TOPIC:
        kafka.find_topic(metadata, name)
    elif int(name) not in metadata.brokers:
        known = ", ".join(map(str, sorted(metadata.brokers)))
        raise Failure(f"there is no broker {name}", f"the brokers are {known}")
    return admin


@app.command(epilog="Example: headrace config describe topic orders --all")
def describe(
    entity: EntityType,
    name: EntityName,
    everything: Annotated[bool, option("--all -a", "Include defaults.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show settings and where each comes from; without --all only those that were set."""
    admin = _open(target, entity, name)
    resource = _resource(entity, name)
    futures = admin.describe_configs([resource], request_timeout=kafka.TIMEOUT_S)
    described, failures = kafka.settle(futures, target, entity.value)
    kafka.raise_all(failures)
    rows = [
        {
            "name": entry.name,
            "value": None if entry.is_sensitive else entry.value,
            "source": source_name(entry.source),
            "read_only": bool(entry.is_read_only),
            "sensitive": bool(entry.is_sensitive),
        }
        for entry in sorted(described[name].values(), key=lambda entry: entry.name)
        if everything or not entry.is_default
    ]
    emit_rows(rows, output, ["name", "value", "source", "read_only"])


def source_name(source: int) -> str:
    """`dynamic-topic`, `static-broker`, `default` …"""
    try:
        known: str = kafka.admin_api().ConfigSource(source).name
    except ValueError:
        return str(source)
    return known.removesuffix("_CONFIG").lower().replace("_", "-")


@app.command("set", epilog="Example: headrace config set topic orders retention.ms=3600000")
def set_configs(
    entity: EntityType,
    name: EntityName,
    pairs: Annotated[list[str], argument("KEY=VALUE…")],
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Set settings; the others stay as they are."""
    settings = parse_pairs(pairs, "setting")
    admin = _open(target, entity, name)
    change(admin, target, entity.value, name, settings, [])
    rows = [{"name": key, "value": value, "result": "set"} for key, value in settings.items()]
    emit_rows(rows, output, ["name", "value", "result"])


@app.command(epilog="Example: headrace config delete topic orders retention.ms")
def delete(
    entity: EntityType,
    name: EntityName,
    keys: Annotated[list[str], argument("KEY…")],
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Return settings to their defaults."""
    admin = _open(target, entity, name)
    change(admin, target, entity.value, name, {}, keys)
    emit_rows([{"name": key, "result": "deleted"} for key in keys], output, ["name", "result"])


def change(
    admin: AdminClient,
    target: Target,
    entity: str,
    name: str,
    settings: Mapping[str, str],
    deleted: Iterable[str],
) -> None:
    """Set and delete settings of one topic or broker in one request."""
    api = kafka.admin_api()
    resource = _resource(entity, name)
    for key, value in settings.items():
        entry = api.ConfigEntry(key, value, incremental_operation=api.AlterConfigOpType.SET)
        resource.add_incremental_config(entry)
    for key in deleted:
        entry = api.ConfigEntry(key, None, incremental_operation=api.AlterConfigOpType.DELETE)
        resource.add_incremental_config(entry)
    futures = admin.incremental_alter_configs([resource], request_timeout=kafka.TIMEOUT_S)
    kafka.raise_all(kafka.settle(futures, target, entity)[1])
