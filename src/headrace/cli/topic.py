"""`headrace topic`: create, list, describe, alter, delete, reassign, elect."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import elect, kafka, reassign
from headrace.cli.completion import complete_topic
from headrace.cli.failures import WrongUsage
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
from headrace.cli.target import Target

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.admin._metadata import TopicMetadata

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
    admin = kafka.open_admin(target)
    present: set[str] = set()
    if if_not_exists:
        present = kafka.read_metadata(admin, target).topics.keys() & set(names)
    with kafka.explained(target):
        new = [
            kafka.admin_api().NewTopic(
                name, partitions or -1, replication_factor or -1, config=configs
            )
            for name in dict.fromkeys(names)
            if name not in present
        ]
        futures = admin.create_topics(new, request_timeout=kafka.TIMEOUT_S) if new else {}
    done, failures = kafka.settle(futures, target, "topic")
    rows = [{"topic": name, "result": "created"} for name in done]
    rows += [{"topic": name, "result": "exists"} for name in sorted(present)]
    if rows or not failures:
        emit_rows(rows, output, ["topic", "result"])
    kafka.raise_all(failures)


@app.command("list", epilog="Example: headrace topic list 'orders*' --output json")
def list_topics(
    pattern: Annotated[str, typer.Argument(help="Shell pattern, such as 'orders*'.")] = "*",
    internal: Annotated[bool, option("--internal", "Include internal topics.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """List topics by name."""
    metadata = kafka.read_metadata(kafka.open_admin(target), target)
    rows = [
        {
            "topic": name,
            "partitions": len(topic.partitions),
            "replication_factor": _replication_factor(topic),
        }
        for name, topic in sorted(metadata.topics.items())
        if fnmatch.fnmatchcase(name, pattern) and (internal or not name.startswith("__"))
    ]
    emit_rows(rows, output, ["topic", "partitions", "replication_factor"])


def _replication_factor(topic: TopicMetadata) -> int:
    return max((len(partition.replicas) for partition in topic.partitions.values()), default=0)


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
    admin = kafka.open_admin(target)
    topics = kafka.find_topics(kafka.read_metadata(admin, target), dict.fromkeys(names))
    described = [_describe(admin, target, topic) for topic in topics]
    emit(described, output, lambda: "\n".join(map(_as_text, described)))


def _describe(admin: AdminClient, target: Target, topic: TopicMetadata) -> dict[str, Any]:
    api = kafka.admin_api()
    name = str(topic.topic)
    resource = api.ConfigResource(api.ResourceType.TOPIC, name)
    futures = admin.describe_configs([resource], request_timeout=kafka.TIMEOUT_S)
    configs, failures = kafka.settle(futures, target, "topic")
    kafka.raise_all(failures)
    entries = sorted(configs[name].values(), key=lambda entry: entry.name)
    first = _offsets(admin, topic, api.OffsetSpec.earliest())
    last = _offsets(admin, topic, api.OffsetSpec.latest())
    return {
        "topic": name,
        "replication_factor": _replication_factor(topic),
        "configs": {entry.name: entry.value for entry in entries if not entry.is_default},
        "partitions": [
            {
                "partition": partition.id,
                "leader": partition.leader if partition.leader >= 0 else None,
                "replicas": list(partition.replicas),
                "isr": list(partition.isrs),
                "log_start_offset": first.get(partition.id),
                "log_end_offset": last.get(partition.id),
            }
            for partition in sorted(topic.partitions.values(), key=lambda each: each.id)
        ],
    }


def _offsets(admin: AdminClient, topic: TopicMetadata, spec: Any) -> dict[int, int]:
    """Offsets by partition; a partition without a leader has none to tell."""
    from confluent_kafka import KafkaException, TopicPartition

    wanted = {
        TopicPartition(str(topic.topic), partition.id): spec
        for partition in topic.partitions.values()
        if partition.leader >= 0
    }
    futures = admin.list_offsets(wanted, request_timeout=kafka.TIMEOUT_S) if wanted else {}
    offsets = {}
    for where, future in futures.items():
        try:
            offsets[where.partition] = future.result(timeout=kafka.TIMEOUT_S * 2).offset
        except KafkaException:
            continue
    return offsets


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
    from headrace.cli.config import change

    if partitions is None and not config and not delete_config:
        raise WrongUsage("nothing to alter", "give --partitions, --config or --delete-config")
    admin = kafka.open_admin(target)
    kafka.find_topics(kafka.read_metadata(admin, target), [name])
    if partitions is not None:
        with kafka.explained(target):
            futures = admin.create_partitions(
                [kafka.admin_api().NewPartitions(name, partitions)], request_timeout=kafka.TIMEOUT_S
            )
        kafka.raise_all(kafka.settle(futures, target, "topic")[1])
    if config or delete_config:
        change(admin, target, "topic", name, parse_pairs(config, "--config"), delete_config)
    emit_rows([{"topic": name, "result": "altered"}], output, ["topic", "result"])


@app.command(epilog="Example: headrace topic delete orders --yes")
def delete(
    names: TopicNames,
    yes: Annotated[bool, option("--yes -y", "Do not ask for confirmation.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete topics and all their records. Asks for confirmation on a terminal."""
    admin = kafka.open_admin(target)
    wanted = list(dict.fromkeys(names))
    kafka.find_topics(kafka.read_metadata(admin, target), wanted)
    confirm(f"Delete {', '.join(wanted)}?", yes=yes)
    futures = admin.delete_topics(wanted, request_timeout=kafka.TIMEOUT_S)
    done, failures = kafka.settle(futures, target, "topic")
    if done:
        rows = [{"topic": name, "result": "deleted"} for name in done]
        emit_rows(rows, output, ["topic", "result"])
    kafka.raise_all(failures)


app.command("reassign", epilog=reassign.EPILOG)(reassign.reassign)
app.command("elect", epilog=elect.EPILOG)(elect.elect)
