"""`headrace config`: read and change the settings of topics and brokers on the fly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Final

import typer

from headrace.admin.client import Admin, Changes
from headrace.admin.settings import Resource, Source, read_settings
from headrace.cli.asking import connect, explained, find_topic
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import MADE, OutputOption, TargetOptions, parse_pairs
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import argument, option
from headrace.cli.target import Target

app = typer.Typer(help="Read and change settings of topics and brokers.")


class Entity(StrEnum):
    """Whose settings they are."""

    TOPIC = "topic"
    BROKER = "broker"


EntityType = Annotated[Entity, argument("topic|broker")]
EntityName = Annotated[str, argument("NAME", "A topic, or a broker's id.")]


_KINDS: Final = {Entity.TOPIC: Resource.TOPIC, Entity.BROKER: Resource.BROKER}


@contextmanager
def _open(target: Target, entity: Entity, name: str) -> Iterator[Admin]:
    """A misspelt topic or broker is answered with those there are, before anything is tried."""
    if entity is Entity.BROKER and not name.isdigit():
        raise WrongUsage(f'"{name}" is not a broker id', 'see "headrace cluster describe"')
    with connect(target) as admin, explained(f'{entity.value} "{name}"'):
        if entity is Entity.TOPIC:
            find_topic(admin.topics(), name)
        elif int(name) not in (ids := admin.describe_cluster().ids):
            known = ", ".join(map(str, sorted(ids)))
            raise Failure(f"there is no broker {name}", f"the brokers are {known}")
        yield admin


@app.command(epilog="Example: headrace config describe topic orders --all")
def describe(
    entity: EntityType,
    name: EntityName,
    everything: Annotated[bool, option("--all -a", "Include defaults.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show settings and where each comes from; without --all only those that were set."""
    with _open(target, entity, name) as admin:
        settings = read_settings(admin, _KINDS[entity], name)
    rows = [
        {
            "name": each.name,
            "value": None if each.is_sensitive else each.value,
            "source": source_name(each.source),
            "read_only": each.is_read_only,
            "sensitive": each.is_sensitive,
        }
        for each in settings
        if everything or not each.is_default
    ]
    emit_rows(rows, output, ["name", "value", "source", "read_only"])


def source_name(source: Source) -> str:
    """`dynamic-topic`, `static-broker`, `default` …"""
    return source.name.removesuffix("_CONFIG").lower().replace("_", "-")


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
    _change(target, entity, name, settings)
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
    _change(target, entity, name, dict.fromkeys(keys))
    emit_rows([{"name": key, "result": "deleted"} for key in keys], output, ["name", "result"])


def _change(target: Target, entity: Entity, name: str, values: Mapping[str, str | None]) -> None:
    """Set settings of one topic or broker, or delete them (None), in one request."""
    with _open(target, entity, name) as admin:
        admin.alter_settings([Changes(_KINDS[entity], name, values)])
