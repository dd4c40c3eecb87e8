"""The settings of the lake sinks, under Confluent's names."""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.config.definition import Password, not_empty, one_of
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.lake.rotation import zone

COMPATIBILITIES: Final = ("NONE", "BACKWARD", "FORWARD", "FULL")
TABLES: Final = ("none", "delta", "iceberg")
FORMATS: Final = ("avro", "parquet", "json", "bytes", "string")
PARTITIONERS: Final = ("default", "field", "timebased", "daily", "hourly")
EXTRACTORS: Final = ("Wallclock", "Record", "RecordField")


def short_name(value: str, suffix: str) -> str:
    """`io.confluent.connect.s3.format.avro.AvroFormat` as `avro`."""
    last = value.rpartition(".")[2].rpartition("$")[2]
    name = last.removesuffix(suffix).lower()
    return {"bytearray": "bytes"}.get(name, name)


def _known_format(name: str, value: object) -> None:
    if short_name(str(value), "Format") not in FORMATS:
        raise ConfigException.of(name, value, f"Must be one of {', '.join(FORMATS)}, or its class")


def _known_partitioner(name: str, value: object) -> None:
    if short_name(str(value), "Partitioner") not in PARTITIONERS:
        offered = ", ".join(PARTITIONERS)
        raise ConfigException.of(name, value, f"Must be one of {offered}, or its class")


def _known_zone(name: str, value: object) -> None:
    try:
        zone(str(value))
    except ValueError as fault:
        raise ConfigException.of(name, value, str(fault)) from fault


class LakeSettings(Config):
    """What is written when, and how files are called."""

    flush_size: int = Config.key(
        "flush.size",
        at_least=1,
        doc="How many records of a partition are published at a time.",
        importance="high",
        group="Files",
    )
    format_class: str = Config.key(
        "format.class",
        default="avro",
        check=_known_format,
        doc="The format of files: avro, parquet, json, bytes, string, or the class of one.",
        importance="high",
        group="Files",
    )
    rotate_interval_ms: int = Config.key(
        "rotate.interval.ms",
        default=-1,
        long=True,
        doc="After how much time files are published: by the times of records, if the partitioner "
        "has an extractor of them, else by the clock. -1: never.",
        importance="high",
        group="Files",
    )
    rotate_schedule_ms: int = Config.key(
        "rotate.schedule.interval.ms",
        default=-1,
        long=True,
        doc="Files are published at midnight and so many milliseconds after it, by the clock.",
        group="Files",
    )
    store_url: str | None = Config.key(
        "store.url",
        default=None,
        doc="Where the lake is: a folder, hdfs://namenode:8020, or the endpoint of an S3.",
        importance="high",
        group="Storage",
    )
    topics_dir: str = Config.key(
        "topics.dir",
        default="topics",
        check=not_empty,
        doc="The folder below which each topic has one.",
        importance="high",
        group="Storage",
    )
    logs_dir: str = Config.key(
        "logs.dir",
        default="logs",
        check=not_empty,
        doc="The folder in which it is kept what is published.",
        importance="high",
        group="Storage",
    )
    digits: int = Config.key(
        "filename.offset.zero.pad.width",
        default=10,
        at_least=0,
        doc="How wide offsets are in the names of files.",
        importance="low",
        group="Files",
    )
    delimiter: str = Config.key(
        "file.delim",
        default="+",
        choices=("+", "_", "@"),
        doc="What stands between the parts of a file's name.",
        group="Files",
    )
    compatibility: str = Config.key(
        "schema.compatibility",
        default="NONE",
        check=one_of(*COMPATIBILITIES),
        doc="What a record of another schema does: NONE begins another file. BACKWARD and FULL "
        "begin one for a newer version and write older records under it, FORWARD the reverse.",
        importance="high",
        group="Schema",
    )
    null_values: str = Config.key(
        "behavior.on.null.values",
        default="fail",
        check=one_of("fail", "ignore", ignore_case=True),
        doc="What happens to records without a value: they fail, or are left out.",
        importance="low",
        group="Files",
    )
    avro_codec: str = Config.key(
        "avro.codec",
        default="null",
        choices=("null", "deflate", "snappy", "bzip2"),
        doc="How Avro files are compressed.",
        importance="low",
        group="Files",
    )
    parquet_codec: str = Config.key(
        "parquet.codec",
        default="snappy",
        choices=("none", "gzip", "snappy", "lz4", "brotli", "zstd"),
        doc="How Parquet files are compressed.",
        importance="low",
        group="Files",
    )
    separator: str = Config.key(
        "format.bytearray.separator",
        default="\n",
        doc="What follows each value of a file of bytes.",
        importance="low",
        group="Files",
    )
    most_open: int = Config.key(
        "headrace.open.files.max",
        default=64,
        at_least=1,
        doc="How many files a task has open at most; the one that rests longest is finished early.",
        importance="low",
        group="Files",
    )
    partitioner: str = Config.key(
        "partitioner.class",
        default="default",
        check=_known_partitioner,
        doc="Which folder a record belongs to: default (its partition), field, timebased, daily, "
        "hourly, or the class of one.",
        importance="high",
        group="Partitioner",
    )
    partition_fields: list[str] = Config.key(
        "partition.field.name",
        default=[],
        doc="The fields of the value that name folders, for the field partitioner.",
        group="Partitioner",
    )
    duration_ms: int = Config.key(
        "partition.duration.ms",
        default=-1,
        long=True,
        doc="How much time a folder holds, for the time-based partitioner.",
        group="Partitioner",
    )
    path_format: str = Config.key(
        "path.format",
        default="",
        doc="The folder's name by its time: 'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH",
        group="Partitioner",
    )
    locale: str = Config.key(
        "locale",
        default="",
        doc="The language of names of months and days: English.",
        group="Partitioner",
    )
    timezone: str = Config.key(
        "timezone",
        default="",
        check=_known_zone,
        doc="The time zone of folders and schedules: Europe/Berlin.",
        group="Partitioner",
    )
    extractor: str = Config.key(
        "timestamp.extractor",
        default="Wallclock",
        check=one_of(*EXTRACTORS, ignore_case=True),
        doc="The time of a record: Wallclock (when it is written), Record (its timestamp), "
        "RecordField (a field of its value).",
        group="Partitioner",
    )
    time_field: str = Config.key(
        "timestamp.field",
        default="timestamp",
        doc="The field that has the time, for RecordField.",
        group="Partitioner",
    )
    table_format: str = Config.key(
        "headrace.table.format",
        default="none",
        choices=TABLES,
        doc="Whether topics become tables instead of files: delta, iceberg.",
        group="Tables",
    )
    iceberg_uri: str | None = Config.key(
        "headrace.iceberg.catalog.uri",
        default=None,
        doc="The catalog of Iceberg tables: sqlite:///catalog.db, or a REST catalog's address.",
        group="Tables",
    )
    iceberg_namespace: str = Config.key(
        "headrace.iceberg.namespace",
        default="default",
        doc="The namespace of Iceberg tables.",
        group="Tables",
    )

    hive: bool = Config.key(
        "hive.integration",
        default=False,
        doc="Not offered: lay a table over the folder of a topic in Hive or Spark.",
        importance="low",
        group="Tables",
    )

    def check(self) -> None:
        """What no single setting can say of itself."""
        if self.hive:
            raise ConfigException.of(
                "hive.integration", True, "lay an external table over the topic's folder instead"
            )
        kind = short_name(self.partitioner, "Partitioner")
        if kind == "field" and not self.partition_fields:
            raise ConfigException.of(
                "partition.field.name", "", "the field partitioner needs the name of a field"
            )
        if kind == "timebased" and (self.duration_ms <= 0 or not self.path_format):
            raise ConfigException.of(
                "path.format",
                self.path_format,
                "the time-based partitioner needs path.format and partition.duration.ms",
            )
        language = self.locale.replace("_", "-").partition("-")[0].lower()
        if language not in ("", "en"):
            raise ConfigException.of(
                "locale", self.locale, "names of months and days are English: use en-US and numbers"
            )
        if self.table_format != "none" and kind not in ("default", "field"):
            raise ConfigException.of(
                "partitioner.class", self.partitioner, "tables are partitioned by fields only"
            )
        if self.table_format == "iceberg" and not self.iceberg_uri:
            raise ConfigException.of(
                "headrace.iceberg.catalog.uri", None, "Iceberg tables are found by a catalog"
            )


class HdfsSettings(LakeSettings):
    """Where HDFS is."""

    hdfs_url: str | None = Config.key(
        "hdfs.url",
        default=None,
        doc="The address of HDFS: hdfs://namenode:8020",
        importance="high",
        group="HDFS",
    )
    hadoop_conf_dir: str | None = Config.key(
        "hadoop.conf.dir",
        default=None,
        doc="A folder with core-site.xml and hdfs-site.xml.",
        importance="high",
        group="HDFS",
    )

    def check(self) -> None:
        """There must be an address."""
        super().check()
        if not (self.store_url or self.hdfs_url):
            raise ConfigException.of("hdfs.url", None, "write it as hdfs://namenode:8020")


class S3Settings(LakeSettings):
    """Where the bucket is. `store.url` is the endpoint of an S3 that is not Amazon's."""

    bucket: str = Config.key(
        "s3.bucket.name", check=not_empty, doc="The bucket.", importance="high", group="S3"
    )
    region: str = Config.key(
        "s3.region", default="us-west-2", doc="The region of the bucket.", group="S3"
    )
    part_size: int = Config.key(
        "s3.part.size",
        default=25 << 20,
        at_least=5 << 20,
        doc="How many bytes a part of an upload has.",
        importance="high",
        group="S3",
    )
    retries: int = Config.key(
        "s3.part.retries",
        default=3,
        at_least=0,
        doc="How many times a request is made again.",
        group="S3",
    )
    compression: str = Config.key(
        "s3.compression.type",
        default="none",
        choices=("none", "gzip"),
        doc="How files of JSON, bytes and strings are compressed.",
        importance="low",
        group="S3",
    )
    access_key: str | None = Config.key(
        "aws.access.key.id",
        default=None,
        doc="The key; without it, what the environment has.",
        group="S3",
    )
    secret_key: Password | None = Config.key(
        "aws.secret.access.key",
        default=None,
        doc="The secret of the key.",
        group="S3",
    )


class LocalSettings(LakeSettings):
    """Where the folder is."""

    def check(self) -> None:
        """There must be a folder."""
        super().check()
        if not self.store_url:
            raise ConfigException.of("store.url", None, "name the folder of the lake")
