"""A writer as the settings say."""

from __future__ import annotations

from typing import Final

from headrace.java.date_format import InvalidDateFormat
from headrace.pipelines.connect.connectors.lake.settings import (
    HdfsSettings,
    LakeSettings,
    S3Settings,
    short_name,
)
from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.lake.files import FileTarget
from headrace.pipelines.lake.filesystems import filesystem
from headrace.pipelines.lake.filesystems.filesystem import Filesystem
from headrace.pipelines.lake.formats.format import Format
from headrace.pipelines.lake.formats.lines import LinesFormat
from headrace.pipelines.lake.layout import Layout
from headrace.pipelines.lake.partitioners import (
    DAILY,
    DAY_MS,
    HOUR_MS,
    HOURLY,
    MOST_NAME_BYTES,
    DefaultPartitioner,
    FieldPartitioner,
    Partitioner,
    TimePartitioner,
)
from headrace.pipelines.lake.rotation import Rotation, zone
from headrace.pipelines.lake.target import Target
from headrace.pipelines.lake.times import Extractor, FieldTime, RecordTime, Wallclock

_MOST_S3_NAME_BYTES: Final = 512  # a whole key, with topic, folders and file, has up to 1024


def partitioner_of(settings: LakeSettings) -> Partitioner:
    """The partitioner of `partitioner.class`; tables have no folders of ours."""
    kind = short_name(settings.partitioner, "Partitioner")
    if kind == "default" or settings.table_format != "none":
        return DefaultPartitioner()
    if kind == "field":
        most = _MOST_S3_NAME_BYTES if isinstance(settings, S3Settings) else MOST_NAME_BYTES
        return FieldPartitioner(settings.partition_fields, most_bytes=most)
    pattern, duration_ms = {
        "daily": (DAILY, DAY_MS),
        "hourly": (HOURLY, HOUR_MS),
        "timebased": (settings.path_format, settings.duration_ms),
    }[kind]
    try:
        return TimePartitioner(
            pattern,
            duration_ms,
            timezone=zone(settings.timezone),
            extractor=_extractor(settings),
        )
    except InvalidDateFormat as fault:
        raise ConfigException.of("path.format", pattern, str(fault)) from fault


def fields_of(settings: LakeSettings) -> list[str]:
    """The fields of values that the partitioner reads."""
    kind = short_name(settings.partitioner, "Partitioner")
    if kind == "field":
        return settings.partition_fields
    by_field = kind != "default" and settings.extractor.lower() == "recordfield"
    return [settings.time_field] if by_field else []


def rotation_of(settings: LakeSettings) -> Rotation:
    """When files are published."""
    return Rotation(
        rows=settings.flush_size,
        interval_ms=settings.rotate_interval_ms if settings.rotate_interval_ms > 0 else None,
        schedule_ms=settings.rotate_schedule_ms if settings.rotate_schedule_ms > 0 else None,
        timezone=zone(settings.timezone),
    )


def is_deterministic(settings: LakeSettings, partitioner: Partitioner) -> bool:
    """Whether records that are written again make the same files."""
    by_clock = settings.rotate_interval_ms > 0 and not isinstance(partitioner, TimePartitioner)
    return partitioner.deterministic and settings.rotate_schedule_ms <= 0 and not by_clock


def filesystem_of(settings: LakeSettings) -> Filesystem:
    """Where files go."""
    if isinstance(settings, S3Settings):
        from headrace.pipelines.lake.filesystems.s3 import S3Filesystem

        return S3Filesystem(
            settings.bucket,
            region=settings.region,
            endpoint=settings.store_url,
            access_key=settings.access_key,
            secret_key=None if settings.secret_key is None else settings.secret_key.clear,
            part_size=settings.part_size,
            attempts=settings.retries + 1,
        )
    if isinstance(settings, HdfsSettings):
        return filesystem(settings.store_url or settings.hdfs_url or "", settings.hadoop_conf_dir)
    return filesystem(settings.store_url or "")


def target_of(settings: LakeSettings, connector: str) -> Target:
    """Files, or the tables that `headrace.table.format` asks for."""
    if settings.table_format == "none":
        layout = Layout(settings.topics_dir, settings.logs_dir, settings.digits, settings.delimiter)
        return FileTarget(
            filesystem_of(settings),
            _format(settings),
            layout=layout,
            most_open=settings.most_open,
        )
    application = f"connect-{connector}"
    if settings.table_format == "delta":
        from headrace.pipelines.lake.tables.delta import DeltaTarget

        return DeltaTarget(
            f"{_root(settings)}/{settings.topics_dir}",
            application,
            partition_by=settings.partition_fields,
            storage=_storage(settings),
        )
    from headrace.pipelines.lake.tables.iceberg import IcebergTarget

    options = {f"s3.{name}": text for name, text in _iceberg_storage(settings).items()}
    warehouse = f"{_root(settings)}/{settings.topics_dir}"
    given = {"uri": settings.iceberg_uri or "", "warehouse": warehouse, **options}
    return IcebergTarget(
        settings.iceberg_namespace,
        application,
        catalog=given,
        partition_by=settings.partition_fields,
    )


def _extractor(settings: LakeSettings) -> Extractor:
    kind = settings.extractor.lower()
    if kind == "wallclock":
        return Wallclock()
    return RecordTime() if kind == "record" else FieldTime(settings.time_field)


def _format(settings: LakeSettings) -> Format:
    kind = short_name(settings.format_class, "Format")
    if kind == "avro":
        from headrace.pipelines.lake.formats.avro import AvroFormat

        return AvroFormat(settings.avro_codec)
    if kind == "parquet":
        from headrace.pipelines.lake.formats.parquet import ParquetFormat

        return ParquetFormat(settings.parquet_codec)
    packed = isinstance(settings, S3Settings) and settings.compression == "gzip"
    if kind == "bytes":
        return LinesFormat(".bin", separator=settings.separator.encode(), compress=packed)
    return LinesFormat(".json" if kind == "json" else ".txt", compress=packed)


def _root(settings: LakeSettings) -> str:
    if isinstance(settings, S3Settings):
        return f"s3://{settings.bucket}"
    if isinstance(settings, HdfsSettings):
        return (settings.store_url or settings.hdfs_url or "").rstrip("/")
    return (settings.store_url or "").rstrip("/")


def _storage(settings: LakeSettings) -> dict[str, str]:
    """S3 as delta-rs wants to know it."""
    if not isinstance(settings, S3Settings):
        return {}
    secret = None if settings.secret_key is None else settings.secret_key.clear
    plain = settings.store_url is not None and settings.store_url.startswith("http:")
    given = {
        "AWS_REGION": settings.region,
        "AWS_ENDPOINT_URL": settings.store_url,
        "AWS_ALLOW_HTTP": "true" if plain else None,
        "AWS_ACCESS_KEY_ID": settings.access_key,
        "AWS_SECRET_ACCESS_KEY": secret,
    }
    return {name: text for name, text in given.items() if text}


def _iceberg_storage(settings: LakeSettings) -> dict[str, str]:
    """S3 as PyIceberg wants to know it."""
    if not isinstance(settings, S3Settings):
        return {}
    secret = None if settings.secret_key is None else settings.secret_key.clear
    given = {
        "region": settings.region,
        "endpoint": settings.store_url,
        "access-key-id": settings.access_key,
        "secret-access-key": secret,
    }
    return {name: text for name, text in given.items() if text}
