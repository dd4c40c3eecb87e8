"""`headrace topic`: create, list, describe, alter, delete, reassign, elect."""

from __future__ import annotations

import fnmatch
from typing import Annotated, Any

import typer

from headrace.admin.client import TOPIC, Admin, Changes
from headrace.admin.records import led_offsets
from headrace.admin.settings import topic_settings
from headrace.admin.views import TopicView
from headrace.cli import elect, reassign
from headrace.cli.asking import connect, explained, find_topic, raise_all
from headrace.cli.completion import complete_topic
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import (
    MADE,
    NONE_GIVEN,
    OutputOption,
    TargetOptions,
    TopicName,
    TopicNames,
    confirm,
    parse_pairs,
)
from headrace.cli.output import Output, emit, emit_rows, table
from headrace.cli.parameters import argument, option
from headrace.client.offsets import EARLIEST, LATEST
from headrace.types import TopicPartition

app = typer.Typer(help="Create, inspect, change and delete topics.")

Configs = Annotated[
    list[str], option("--config -c KEY=VALUE", "A topic configuration; may be repeated.")
]


@app.command(epilog="Example: headrace topic create orders --partitions 6 -c retention.ms=86400000")
def create(
    names: TopicNames,
    partitions: Annotated[
        int | None,
        option("--partitions -p", "Number of partitions. Default: num.partitions.", min=1),
    ] = None,
    replication_factor: Annotated[
        int | None,
        option(
            "--replication-factor -r", "Replicas of each partition. Default: the broker's.", min=1
        ),
    ] = None,
    config: Configs = NONE_GIVEN,
    if_not_exists: Annotated[
        bool, option("--if-not-exists", "Do nothing for topics that exist.")
    ] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create topics."""
    configs = parse_pairs(config, "--config")
    rows: list[dict[str, str]] = []
    failures: list[Failure] = []
    with connect(target) as admin, explained():
        present: set[str] = set()
        if if_not_exists:
            present = {topic.name for topic in admin.topics()} & set(names)
        for name in dict.fromkeys(names):
            if name in present:
                continue
            try:
                with explained(f'topic "{name}"'):
                    admin.create(name, partitions, replication_factor, settings=configs)
            except Failure as failure:
                failures.append(failure)
            else:
                rows.append({"topic": name, "result": "created"})
    rows += [{"topic": name, "result": "exists"} for name in sorted(present)]
    if rows or not failures:
        emit_rows(rows, output, ["topic", "result"])
    raise_all(failures)


@app.command("list", epilog="Example: headrace topic list 'orders*' --output json")
def list_topics(
    pattern: Annotated[str, typer.Argument(help="Shell pattern, such as 'orders*'.")] = "*",
    internal: Annotated[bool, option("--internal", "Include internal topics.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """List topics by name."""
    with connect(target) as admin, explained():
        topics = admin.topics()
    rows = [
        {
            "topic": topic.name,
            "partitions": len(topic.partitions),
            "replication_factor": topic.replication_factor,
        }
        for topic in topics
        if fnmatch.fnmatchcase(topic.name, pattern)
        and (internal or not topic.name.startswith("__"))
    ]
    emit_rows(rows, output, ["topic", "partitions", "replication_factor"])


@app.command(epilog="Example: headrace topic describe orders, or: describe --under-replicated")
def describe(
    names: Annotated[list[str] | None, argument("TOPIC…", autocompletion=complete_topic)] = None,
    under_replicated: Annotated[
        bool, option("--under-replicated", "Only under-replicated partitions.")
    ] = False,
    offline: Annotated[bool, option("--offline", "Only partitions without a leader.")] = False,
    under_min_isr: Annotated[
        bool, option("--under-min-isr", "Only partitions below min.insync.replicas.")
    ] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show partitions, leaders, replicas, offsets and the settings that differ from the default.

    With a filter, only the partitions that match are shown, of all topics if none is named.
    """
    if under_replicated or offline or under_min_isr:
        from headrace.cli.ailing import find_ailing

        rows = find_ailing(
            target,
            names,
            under_replicated=under_replicated,
            offline=offline,
            under_min_isr=under_min_isr,
        )
        if not rows and output is Output.TABLE:
            print("no partition matches")
            return
        emit_rows(rows, output, ["topic", "partition", "leader", "replicas", "isr", "state"])
        return
    if not names:
        raise WrongUsage("no topic is named", "write its name, or a filter; see --help")
    with connect(target) as admin, explained():
        topics = admin.topics()
        described = [_describe(admin, find_topic(topics, name)) for name in dict.fromkeys(names)]
    emit(described, output, lambda: "\n".join(map(_as_text, described)))


def _describe(admin: Admin, topic: TopicView) -> dict[str, Any]:
    settings = topic_settings(admin, [topic.name])[topic.name]
    places = [TopicPartition(topic.name, each.number) for each in topic.partitions]
    first, last = led_offsets(admin, places, EARLIEST), led_offsets(admin, places, LATEST)
    return {
        "topic": topic.name,
        "replication_factor": topic.replication_factor,
        "configs": {each.name: each.value for each in settings if not each.is_default},
        "partitions": [
            {
                "partition": each.number,
                "leader": each.leader,
                "replicas": list(each.replicas),
                "isr": list(each.isr),
                "log_start_offset": first.get(place),
                "log_end_offset": last.get(place),
            }
            for place, each in zip(places, topic.partitions, strict=True)
        ],
    }


def _as_text(described: dict[str, Any]) -> str:
    configs = " ".join(f"{key}={value}" for key, value in described["configs"].items())
    head = f"{described['topic']}: {len(described['partitions'])} partitions, "
    head += f"replication factor {described['replication_factor']}, "
    head += configs or "default settings"
    columns = ["partition", "leader", "replicas", "isr", "log_start_offset", "log_end_offset"]
    return head + "\n" + table(described["partitions"], columns)


@app.command(epilog="Example: headrace topic alter orders --partitions 12 --config retention.ms=-1")
def alter(
    name: TopicName,
    partitions: Annotated[
        int | None, option("--partitions -p", "Increase to this number of partitions.", min=1)
    ] = None,
    config: Configs = NONE_GIVEN,
    delete_config: Annotated[
        list[str], option("KEY", "Remove this configuration; the default applies again.")
    ] = NONE_GIVEN,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Add partitions, set or delete settings."""
    if partitions is None and not config and not delete_config:
        raise WrongUsage("nothing to alter", "give --partitions, --config or --delete-config")
    values: dict[str, str | None] = {**parse_pairs(config, "--config")}
    values |= dict.fromkeys(delete_config)
    with connect(target) as admin, explained(f'topic "{name}"'):
        find_topic(admin.topics(), name)
        if partitions is not None:
            admin.grow({name: partitions})
        if values:
            admin.alter_settings([Changes(TOPIC, name, values)])
    emit_rows([{"topic": name, "result": "altered"}], output, ["topic", "result"])


@app.command(epilog="Example: headrace topic delete orders --yes")
def delete(
    names: TopicNames,
    yes: Annotated[bool, option("--yes -y", "Do not ask for confirmation.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete topics and all their records. Asks for confirmation on a terminal."""
    wanted = list(dict.fromkeys(names))
    done, failures = [], []
    with connect(target) as admin, explained():
        topics = admin.topics()
        for name in wanted:
            find_topic(topics, name)
        confirm(f"Delete {', '.join(wanted)}?", yes=yes)
        for name in wanted:
            try:
                with explained(f'topic "{name}"'):
                    admin.delete([name])
            except Failure as failure:
                failures.append(failure)
            else:
                done.append(name)
    if done:
        rows = [{"topic": name, "result": "deleted"} for name in done]
        emit_rows(rows, output, ["topic", "result"])
    raise_all(failures)


app.command("reassign", epilog=reassign.EPILOG)(reassign.reassign)
app.command("elect", epilog=elect.EPILOG)(elect.elect)
