"""File systems by their addresses. Their libraries are imported when they are asked for."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.filesystems.filesystem import Filesystem
from headrace.pipelines.lake.filesystems.local import LocalFilesystem


def filesystem(url: str, hadoop_conf_dir: str | None = None) -> Filesystem:
    """The file system of an address: a path, `file:`, `hdfs://namenode:8020`, `s3://bucket`.

    Of S3, region, endpoint and credentials are those of the environment (`AWS_…`); `S3Filesystem`
    takes others. Of HDFS, settings are in `hadoop_conf_dir`, or where HADOOP_CONF_DIR says.
    """
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        return LocalFilesystem(Path(parts.path or "."))
    if parts.scheme in ("hdfs", "viewfs"):
        from headrace.pipelines.lake.filesystems.hdfs import HdfsFilesystem

        return HdfsFilesystem(f"{parts.scheme}://{parts.netloc}", parts.path, hadoop_conf_dir)
    if parts.scheme in ("s3", "s3a", "s3n"):
        from headrace.pipelines.lake.filesystems.s3 import S3Filesystem

        return S3Filesystem(parts.netloc, parts.path)
    raise LakeFault(
        f"{url} is not a file system: write a path, hdfs://namenode:8020 or s3://bucket"
    )
