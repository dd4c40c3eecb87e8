"""What a job file says: the keys of Gobblin's Kafka jobs, and of those who extend them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.pipelines.lake.gobblin.stages import Verdict
from headrace.pipelines.lake.jobs.locations import Location, default_filesystem, location_of
from headrace.pipelines.lake.jobs.properties import Properties, substituted

KNOWN: Final = frozenset(
    {
        *("job.name", "job.group", "job.description", "job.lock.enabled", "job.lock.dir"),
        *("job.commit.policy", "kafka.brokers", "topic.whitelist", "topic.blacklist"),
        *("bootstrap.with.offset", "reset.on.offset.out.of.range", "source.class"),
        *("extract.namespace", "extract.limit.enabled", "converter.classes"),
        *("writer.builder.class", "writer.file.path.type", "writer.destination.type"),
        *("writer.output.format", "writer.fs.uri", "writer.codec.type", "writer.file.path"),
        *("simple.writer.delimiter", "data.publisher.type", "data.publisher.final.dir"),
        *("data.publisher.replace.final.dir", "mr.job.max.mappers", "mr.job.root.dir"),
        *("metrics.enabled", "metrics.reporting.file.enabled", "metrics.log.dir"),
        *("metrics.reporting.file.suffix", "fs.uri", "state.store.fs.uri", "state.store.dir"),
        *("task.data.root.dir", "task.maxretries", "fork.branches", "fork.operator.class"),
        *("qualitychecker.row.policies", "qualitychecker.row.policy.types"),
        *("qualitychecker.row.err.file", "qualitychecker.task.policies"),
        *("qualitychecker.task.policy.types", "source.filebased.data.directory"),
        *("fs.defaultFS", "fs.default.name", "schema.registry.url"),
    }
)
# Settings of Java's thread pools, YARN, Hive and mail, which have no counterpart here.
WITHOUT_EFFECT: Final = frozenset(
    {
        *("job.jars", "job.hdfs.jars", "job.schedule", "job.runonce", "job.max.failures"),
        *("extract.table.type", "extract.is.full", "taskexecutor.threadpool.size"),
        *("writer.staging.dir", "writer.output.dir", "writer.buffer.size", "launcher.type"),
        *("simple.writer.prepend.size", "cleanup.staging.data.per.task", "state.store.enabled"),
        *("email.alert.enabled", "email.notification.enabled", "mapreduce.job.queuename"),
        *("kafka.workunit.packer.type", "workunit.retry.enabled", "workunit.retry.policy"),
        *("metrics.report.interval", "source.kafka.fetchTimeoutMillis"),
    }
)
PREFIXES: Final = ("security.protocol", "sasl.", "ssl.", "gobblin.", "metrics.reporting.", "my.")
_COMMITS: Final = ("full", "partial", "successful")
_VERDICTS: Final = tuple(each.value for each in Verdict)


@dataclass(frozen=True, slots=True)
class JobSettings:
    """A job. It travels to the workers."""

    given: Mapping[str, str]
    """All settings, for the stages."""
    name: str
    group: str
    locks: bool
    lock: Location
    source: str
    converters: tuple[str, ...]
    row_policies: tuple[tuple[str, Verdict], ...]
    task_policies: tuple[tuple[str, Verdict], ...]
    branches: int
    fork: str
    writer: str
    publisher: str
    path_type: str
    extension: str
    mappers: int
    attempts: int
    commit: str
    work: Location
    """The folder of files that are not published."""
    errors: Location
    final: Location
    state: Location
    metrics: Location | None
    metrics_suffix: str
    remarks: tuple[str, ...] = ()


def read_settings(given: Mapping[str, str], where: str) -> JobSettings:
    """The settings of a job file; ConfigError names the key that is missing or wrong."""
    whole = substituted(given, where)
    read = Properties(whole, where)
    home = default_filesystem(read, "fs.uri")
    in_writer = read.text("writer.fs.uri", home)
    name = read.required("job.name", "the name under which the job's state is kept")
    state = location_of(
        read.required("state.store.dir", "the folder in which the job keeps how far it is"),
        read.text("state.store.fs.uri", home),
    ).below(name)
    root = read.text("task.data.root.dir") or read.text("mr.job.root.dir")
    if not root:
        read.required("task.data.root.dir", "the folder of files that are not published yet")
    work = location_of(root, in_writer).below(name)
    err_file = read.text("qualitychecker.row.err.file")
    metrics = read.flag("metrics.reporting.file.enabled", False)
    # Only files are written; the word must be one that means so.
    read.choice("writer.destination.type", "HDFS", ("HDFS", "LOCAL", "S3"))
    return JobSettings(
        given=whole,
        name=name,
        group=read.text("job.group"),
        locks=read.flag("job.lock.enabled", True),
        lock=location_of(read["job.lock.dir"], home).below(f"{name}.lock")
        if read.text("job.lock.dir")
        else state.below("lock"),
        source=read.text("source.class", "KafkaSimpleSource"),
        converters=tuple(read.names("converter.classes")),
        row_policies=_policies(read, "row", ("FAIL", "ERR_FILE", "OPTIONAL")),
        task_policies=_policies(read, "task", ("FAIL", "OPTIONAL")),
        branches=read.number("fork.branches", 1, at_least=1),
        fork=read.text("fork.operator.class", "IdentityForkOperator"),
        writer=read.text("writer.builder.class", "SimpleDataWriterBuilder"),
        publisher=read.text("data.publisher.type", "BaseDataPublisher"),
        path_type=read.choice(
            "writer.file.path.type", "tablename", ("tablename", "namespace_table", "default")
        ),
        extension=read.text("writer.output.format", "txt").lower(),
        mappers=read.number("mr.job.max.mappers", 100, at_least=1),
        attempts=read.number("task.maxretries", 5) + 1,
        commit=read.choice("job.commit.policy", "full", _COMMITS),
        work=work,
        errors=location_of(err_file, in_writer) if err_file else work.below("err"),
        final=location_of(
            read.required("data.publisher.final.dir", "the folder of the finished files"),
            in_writer,
        ),
        state=state,
        metrics=location_of(
            read.required("metrics.log.dir", "the folder of the metrics"), home
        ).below(name)
        if metrics
        else None,
        metrics_suffix=read.text("metrics.reporting.file.suffix", "txt").lstrip("."),
        remarks=tuple(read.remarks(KNOWN, WITHOUT_EFFECT, PREFIXES)),
    )


def _policies(
    read: Properties, level: str, allowed: tuple[str, ...]
) -> tuple[tuple[str, Verdict], ...]:
    key = f"qualitychecker.{level}.polic"
    names = read.names(f"{key}ies")
    types = [word.upper() for word in read.names(f"{key}y.types")]
    if len(types) != len(names) or any(word not in allowed for word in types):
        raise read.wrong(
            f"{key}y.types", f"one of {', '.join(allowed)} for each of {len(names)} policies"
        )
    return tuple((name, Verdict(word)) for name, word in zip(names, types, strict=True))
