"""HDFS by hdfs-native: no JVM, the settings of HADOOP_CONF_DIR, renames by the NameNode."""

from __future__ import annotations

import contextlib
import io
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from headrace.pipelines.lake.faults import LakeFault, MissingExtra

try:
    import hdfs_native
except ImportError as fault:
    raise MissingExtra("HDFS", fault) from fault

if TYPE_CHECKING:
    from typing_extensions import Buffer

_BUFFER: Final = 1 << 20


class _Counted(io.RawIOBase):
    """A file that knows how far it is written, which the library's own does not."""

    def __init__(self, out: hdfs_native.FileWriter) -> None:
        self._out = out
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        count = self._out.write(data)
        self._written += count
        return count

    def tell(self) -> int:
        return self._written

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._out.close()


class HdfsFilesystem:
    """A cluster, from a folder of it on; `settings` is a folder with Hadoop's files."""

    fences = True

    def __init__(self, url: str, root: str = "/", settings: str | None = None) -> None:
        self._url = url
        self._root = root.strip("/")
        with self.told(""):
            self._client = hdfs_native.Client(url, config_dir=settings)

    def url(self, path: str) -> str:
        return f"{self._url}{self._whole(path)}"

    @contextlib.contextmanager
    def told(self, path: str) -> Iterator[None]:
        try:
            yield
        except LakeFault:
            raise
        except PermissionError as fault:
            raise LakeFault(
                f"cannot use {self.url(path)}: {_cause(fault)}; let the worker's user write there"
            ) from fault
        except (OSError, RuntimeError) as fault:
            raise LakeFault(
                f"cannot use {self.url(path)}: {_cause(fault)}; see that the NameNode and enough "
                "DataNodes answer, and that nothing else uses the folder",
                passing=True,
            ) from fault

    def stage(self, path: str) -> BinaryIO:
        with self.told(path):
            raw = self._client.create(
                self._whole(path), hdfs_native.WriteOptions(create_parent=True)
            )
            return cast(BinaryIO, io.BufferedWriter(_Counted(raw), _BUFFER))

    def seal(self, path: str, out: BinaryIO) -> None:
        with self.told(path):
            out.close()

    def discard(self, path: str, out: BinaryIO | None) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            if out is not None:
                out.close()
        with contextlib.suppress(LakeFault):
            self.delete(path)

    def is_staged(self, path: str) -> bool:
        with self.told(path):
            return self._exists(path)

    def publish(self, path: str, final: str) -> bool:
        with self.told(final):
            if not self._exists(path):
                return self._exists(final)
            self._make_folder(final)
            try:
                self._client.rename(self._whole(path), self._whole(final), True)
            except FileNotFoundError:
                return self._exists(final)
            return True

    def claim(self, path: str, data: bytes) -> bool:
        with self.told(path):
            aside = self._written_aside(path, data)
            try:
                self._client.rename(self._whole(aside), self._whole(path), False)
            except (OSError, RuntimeError):
                self.delete(aside)
                if self._exists(path):
                    return False
                raise
            return True

    def replace(self, path: str, data: bytes) -> None:
        with self.told(path):
            aside = self._written_aside(path, data)
            self._client.rename(self._whole(aside), self._whole(path), True)

    def read(self, path: str) -> bytes:
        with self.told(path):
            return self._client.read(self._whole(path)).read()

    def delete(self, path: str) -> None:
        with self.told(path):
            if self._exists(path):
                self._client.delete(self._whole(path))

    def files(self, folder: str) -> Iterator[str]:
        with self.told(folder):
            start = len(self._whole(folder).rstrip("/")) + 1
            try:
                for found in self._client.list_status(self._whole(folder), True):
                    if not found.isdir:
                        yield found.path[start:]
            except FileNotFoundError:
                return

    def close(self) -> None:
        """The library closes connections by itself."""

    def _whole(self, path: str) -> str:
        return "/" + "/".join(part for part in (self._root, path.strip("/")) if part)

    def _exists(self, path: str) -> bool:
        try:
            self._client.get_file_info(self._whole(path))
        except FileNotFoundError:
            return False
        return True

    def _make_folder(self, path: str) -> None:
        self._client.mkdirs(self._whole(path).rpartition("/")[0] or "/", create_parent=True)

    def _written_aside(self, path: str, data: bytes) -> str:
        folder, _, _ = path.rpartition("/")
        aside = f"{folder}/.{uuid.uuid4().hex}"
        options = hdfs_native.WriteOptions(create_parent=True)
        with self._client.create(self._whole(aside), options) as out:
            out.write(data)
        return aside


def _cause(fault: Exception) -> str:
    """What happened, without the stack of the NameNode."""
    return str(fault).split("\\n\\t")[0].split("\n")[0]
