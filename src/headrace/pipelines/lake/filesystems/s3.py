"""S3 and what speaks its protocol. An object is there, whole, once its upload is complete.

Files are written to a folder of this machine and uploaded when they are published; there can be
more of them than a process may have open, so those that wait are closed. S3 has no renames, and
`claim` looks before it writes: two writers at a time are not kept apart.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from headrace.pipelines.lake.faults import LakeFault, MissingExtra

try:
    from pyarrow import fs
except ImportError as fault:
    raise MissingExtra("S3", fault) from fault

_LEAST_PART: Final = 5 << 20  # S3's own
_CONNECT_TIMEOUT_S: Final = 10
_REQUEST_TIMEOUT_S: Final = 60


class S3Filesystem:
    """A bucket, from a prefix of it on."""

    fences = False

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        region: str | None = None,
        endpoint: str | None = None,
        access_key: str | None = None,
        secret_key: str | None = None,
        part_size: int = 25 << 20,
        attempts: int = 4,
    ) -> None:
        self._root = f"{bucket}/{prefix.strip('/')}".strip("/")
        self._part_size = max(part_size, _LEAST_PART)
        self._spooled: dict[str, Path] = {}
        self._folder: TemporaryDirectory[str] | None = None
        scheme, _, host = (endpoint or "").rpartition("://")
        given = {
            "region": region,
            "endpoint_override": host or None,
            "scheme": scheme or None,
            "access_key": access_key,
            "secret_key": secret_key,
        }
        with self.told(""):
            self._client = fs.S3FileSystem(
                **{name: value for name, value in given.items() if value},
                connect_timeout=_CONNECT_TIMEOUT_S,
                request_timeout=_REQUEST_TIMEOUT_S,
                retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=attempts),
            )

    def url(self, path: str) -> str:
        return f"s3://{self._whole(path)}"

    @contextlib.contextmanager
    def told(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise LakeFault(
                f"cannot use {self.url(path)}: {fault}; see that the bucket exists, that the "
                "endpoint answers, and that the credentials may read and write it",
                passing=True,
            ) from fault

    def stage(self, path: str) -> BinaryIO:
        with self.told(path):
            spooled = self._spool() / uuid.uuid4().hex
            self._spooled[path] = spooled
            return open(spooled, "xb")

    def seal(self, path: str, out: BinaryIO) -> None:
        with self.told(path):
            out.close()

    def discard(self, path: str, out: BinaryIO | None) -> None:
        if out is not None:
            with contextlib.suppress(OSError):  # a full disk: what is buffered has no place
                out.close()
        spooled = self._spooled.pop(path, None)
        if spooled is not None:
            with contextlib.suppress(OSError):
                spooled.unlink()

    def is_staged(self, path: str) -> bool:
        spooled = self._spooled.get(path)
        return spooled is not None and spooled.exists()

    def publish(self, path: str, final: str) -> bool:
        with self.told(final):
            spooled = self._spooled.get(path)
            if spooled is None:
                return self._exists(final)
            with open(spooled, "rb") as data:
                out = self._client.open_output_stream(self._whole(final))
                while part := data.read(self._part_size):
                    out.write(part)
                out.close()
            self.discard(path, None)
            return True

    def claim(self, path: str, data: bytes) -> bool:
        with self.told(path):
            if self._exists(path):
                return False
            self.replace(path, data)
            return True

    def replace(self, path: str, data: bytes) -> None:
        with self.told(path):
            out = self._client.open_output_stream(self._whole(path))
            out.write(data)
            out.close()

    def read(self, path: str) -> bytes:
        with self.told(path), self._client.open_input_stream(self._whole(path)) as opened:
            return bytes(opened.readall())

    def delete(self, path: str) -> None:
        with self.told(path):
            if self._exists(path):
                self._client.delete_file(self._whole(path))

    def files(self, folder: str) -> Iterator[str]:
        with self.told(folder):
            whole = self._whole(folder)
            below = fs.FileSelector(whole, recursive=True, allow_not_found=True)
            for found in self._client.get_file_info(below):
                if found.type == fs.FileType.File:
                    yield found.path[len(whole) + 1 :]

    def close(self) -> None:
        for path in list(self._spooled):
            self.discard(path, None)
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _spool(self) -> Path:
        """The folder for files that are not published."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="headrace-s3-", ignore_cleanup_errors=True)
        return Path(self._folder.name)

    def _whole(self, path: str) -> str:
        return f"{self._root}/{path}".rstrip("/")

    def _exists(self, path: str) -> bool:
        return bool(self._client.get_file_info(self._whole(path)).type == fs.FileType.File)
