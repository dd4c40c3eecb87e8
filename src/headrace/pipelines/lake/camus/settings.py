"""What `camus.properties` says, under the names that Camus gave it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import ConfigError
from headrace.java.regex import compile_java
from headrace.pipelines.lake.jobs.locations import Location, default_filesystem, location_of
from headrace.pipelines.lake.jobs.properties import Properties
from headrace.pipelines.lake.rotation import zone

NAME: Final = "camus.job.name"
DESTINATION: Final = "etl.destination.path"
BASE: Final = "etl.execution.base.path"
HISTORY: Final = "etl.execution.history.path"
DECODER: Final = "camus.message.decoder.class"
PROVIDER: Final = "etl.record.writer.provider.class"
BROKERS: Final = "kafka.brokers"
WHITELIST: Final = "kafka.whitelist.topics"
BLACKLIST: Final = "kafka.blacklist.topics"
PULL_HOURS: Final = "kafka.max.pull.hrs"
PULL_MINUTES: Final = "kafka.max.pull.minutes.per.task"
HISTORICAL_DAYS: Final = "kafka.max.historical.days"
PARTITION_MINUTES: Final = "etl.output.file.time.partition.mins"
ZONE: Final = "etl.default.timezone"
SUBFOLDER: Final = "etl.destination.path.topic.sub.dir"
IGNORE_ERRORS: Final = "etl.ignore.schema.errors"
MAX_SKIPPED: Final = "etl.max.percent.skipped.other"
TO_EARLIEST: Final = "kafka.move.to.earliest.offset"
TASKS: Final = "mapred.map.tasks"
ATTEMPTS: Final = "mapred.map.max.attempts"
TIMESTAMP_FIELD: Final = "camus.message.timestamp.field"
TIMESTAMP_FORMAT: Final = "camus.message.timestamp.format"
CODEC: Final = "etl.output.codec"
COMPRESS: Final = "mapred.output.compress"
REGISTRY: Final = "schema.registry.url"

KNOWN: Final = frozenset(
    {
        *(NAME, DESTINATION, BASE, HISTORY, DECODER, PROVIDER, BROKERS, WHITELIST, BLACKLIST),
        *(PULL_HOURS, PULL_MINUTES, HISTORICAL_DAYS, PARTITION_MINUTES, ZONE, SUBFOLDER),
        *(IGNORE_ERRORS, MAX_SKIPPED, TO_EARLIEST, TASKS, ATTEMPTS, TIMESTAMP_FIELD),
        *(TIMESTAMP_FORMAT, CODEC, COMPRESS, REGISTRY, "etl.output.record.delimiter"),
        *("fs.defaultFS", "fs.default.name", "kafka.client.name", "kafka.message.coder.class"),
    }
)
# Settings of Hadoop, of buffers, and of counts that were sent to LinkedIn's monitoring.
WITHOUT_EFFECT: Final = frozenset(
    {
        *("camus.message.encoder.class", "etl.avro.writer.sync.interval", "etl.basedir.quota"),
        *("etl.counts.path", "etl.daily", "etl.deflate.level", "etl.hourly", "etl.zkc.path"),
        *("etl.execution.history.max.of.quota", "etl.fail.on.errors", "etl.keep.count.files"),
        *("etl.reporter.class", "etl.run.tracking.post", "hdfs.default.classpath.dir"),
        *("kafka.client.buffer.size", "kafka.client.so.timeout", "kafka.fetch.buffer.size"),
        *("kafka.fetch.request.correlationid", "kafka.fetch.request.max.wait"),
        *("kafka.fetch.request.min.bytes", "kafka.monitor.tier", "kafka.timeout.value"),
        *("kafka.monitor.time.granularity", "log4j.configuration"),
        *("max.decoder.exceptions.to.print", "monitoring.event.class"),
        *("post.tracking.counts.to.kafka", "zookeeper.broker.nodes", "zookeeper.hosts"),
        *("etl.max.percent.skipped.schemanotfound", "etl.fail.on.offset.outofrange"),
    }
)
_CLIENT: Final = ("security.protocol", "sasl.", "ssl.")
_PREFIXES: Final = (*_CLIENT, f"{DECODER}.", "schema.registry.", "basic.auth.", "mapred.job.")
_ZONE_OF_CAMUS: Final = "America/Los_Angeles"


@dataclass(frozen=True, slots=True)
class CamusSettings:
    """A job. It travels to the workers."""

    given: Mapping[str, str]
    """All settings, for decoders and writers."""
    name: str
    client: ClientSettings
    destination: Location
    base: Location
    history: Location
    whitelist: re.Pattern[str]
    blacklist: re.Pattern[str] | None
    provider: str
    pull_hours: int
    pull_minutes: int
    historical_days: int
    partition_minutes: int
    zone: str
    subfolder: str
    max_skipped: float | None
    """The percentage of messages that may fail to be decoded; None: any."""
    to_earliest: bool
    tasks: int
    attempts: int
    remarks: tuple[str, ...] = ()

    def decoder_of(self, topic: str) -> str:
        """The name of the decoder of a topic's messages."""
        return self.given.get(f"{DECODER}.{topic}") or self.given[DECODER]


def read_settings(given: Mapping[str, str], where: str) -> CamusSettings:
    """The settings of a file; ConfigError names the key that is missing or wrong."""
    read = Properties(given, where)
    home = default_filesystem(read)
    base = location_of(read.required(BASE, "the folder of runs under way"), home)
    history = read.text(HISTORY)
    return CamusSettings(
        given={
            **given,
            DECODER: read.text(DECODER, "StringMessageDecoder"),
        },
        name=read.text(NAME, "Camus Job"),
        client=_client(read),
        destination=location_of(read.required(DESTINATION, "the folder of the files"), home),
        base=base,
        history=location_of(history, home) if history else base.below("history"),
        whitelist=_topics(read, WHITELIST) or re.compile(".*"),
        blacklist=_topics(read, BLACKLIST),
        provider=read.text(PROVIDER, "StringRecordWriterProvider"),
        pull_hours=read.number(PULL_HOURS, -1, at_least=-1),
        pull_minutes=read.number(PULL_MINUTES, -1, at_least=-1),
        historical_days=read.number(HISTORICAL_DAYS, -1, at_least=-1),
        partition_minutes=read.number(PARTITION_MINUTES, 60, at_least=1),
        zone=_zone(read),
        subfolder=read.text(SUBFOLDER, "hourly"),
        max_skipped=None if read.flag(IGNORE_ERRORS, False) else _percentage(read),
        to_earliest=read.flag(TO_EARLIEST, False),
        tasks=read.number(TASKS, 10, at_least=1),
        attempts=read.number(ATTEMPTS, 2, at_least=1),
        remarks=tuple(read.remarks(KNOWN, WITHOUT_EFFECT, _PREFIXES)),
    )


def _client(read: Properties) -> ClientSettings:
    servers = read.required(BROKERS, "the brokers, as host:port, several by commas")
    properties = {name: read[name] for name in read if name.lower().startswith(_CLIENT)}
    settings, _ = client_settings(
        {
            "bootstrap.servers": servers,
            "client.id": read.text("kafka.client.name", "camus"),
            **properties,
        }
    )
    return settings


def _topics(read: Properties, key: str) -> re.Pattern[str] | None:
    """Names and regular expressions, any of which may be the whole name of a topic."""
    names = read.names(key)
    if not names:
        return None
    try:
        return compile_java("|".join(f"(?:{name})" for name in names))
    except (ValueError, re.error) as fault:
        raise ConfigError(f"{read.where}: {key} is {read[key]!r}: {fault}") from None


def _zone(read: Properties) -> str:
    name = read.text(ZONE, _ZONE_OF_CAMUS)
    try:
        zone(name)
    except ValueError as fault:
        raise ConfigError(f"{read.where}: {ZONE} is {name!r}: {fault}") from None
    return name


def _percentage(read: Properties) -> float:
    try:
        found = float(read.text(MAX_SKIPPED, "0.1"))
    except ValueError:
        found = -1
    if not 0 <= found <= 100:
        raise read.wrong(MAX_SKIPPED, "a percentage from 0 to 100")
    return found
