"""Folders by their addresses: a file system, and a path in it.

hdfs://namenode:8020/user/camus, s3://bucket/camus, file:///srv/camus, /srv/camus, camus
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from headrace.errors import ConfigError
from headrace.pipelines.lake.filesystems import filesystem
from headrace.pipelines.lake.filesystems.filesystem import Filesystem
from headrace.pipelines.lake.jobs.properties import Properties


@dataclass(frozen=True, slots=True)
class Location:
    """A folder. `address` is that of its file system; the path has no slash at either end."""

    address: str
    path: str

    def below(self, *names: str) -> Location:
        """A folder or a file in this folder."""
        return replace(self, path="/".join(part for part in (self.path, *names) if part))

    def open(self) -> Filesystem:
        """The file system."""
        return filesystem(self.address)

    def __str__(self) -> str:
        return f"{self.address.rstrip('/')}/{self.path}"


def default_filesystem(read: Properties, *more: str) -> str:
    """The address for paths without one, by these keys or by Hadoop's; that of this machine's."""
    for key in (*more, "fs.defaultFS", "fs.default.name"):
        if read.text(key):
            return read[key]
    return ""


def location_of(text: str, home: str = "") -> Location:
    """A folder by its address, or by its path in the file system `home`."""
    parts = urlsplit(text)
    if parts.scheme in ("", "file"):
        base = urlsplit(home)
        if parts.scheme == "file" or base.scheme in ("", "file"):
            return Location("/", os.path.abspath(parts.path).strip("/"))
        return Location(f"{base.scheme}://{base.netloc}", "/".join(_names(base.path, parts.path)))
    if not parts.netloc and not home:
        raise ConfigError(f"{text} names no host: write hdfs://namenode:8020{parts.path}")
    address = f"{parts.scheme}://{parts.netloc}" if parts.netloc else home.rstrip("/")
    return Location(address, "/".join(_names(parts.path)))


def _names(*paths: str) -> list[str]:
    return [name for path in paths for name in path.split("/") if name]
