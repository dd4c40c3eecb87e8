"""What the writer asks of a file system. Paths are relative to its address, with slashes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol


class Filesystem(Protocol):
    """Every method raises LakeFault with the address, the cause and a remedy."""

    fences: bool
    """Whether `claim` is atomic: then two writers at a time never publish a row twice."""

    def url(self, path: str) -> str:
        """How a path is told to people."""

    def told(self, path: str) -> AbstractContextManager[None]:
        """What a staged file raises while it is written becomes a LakeFault in here."""

    def stage(self, path: str) -> BinaryIO:
        """Begin a new file that nobody reads yet."""

    def seal(self, path: str, out: BinaryIO) -> None:
        """Close a file that was staged, its bytes safe."""

    def discard(self, path: str, out: BinaryIO | None) -> None:
        """Let go of a staged file."""

    def is_staged(self, path: str) -> bool:
        """Whether the staged file is still there."""

    def publish(self, path: str, final: str) -> bool:
        """Move a staged file into place, at once and whole; also if that was done before. False if
        the file is neither here nor there."""

    def claim(self, path: str, data: bytes) -> bool:
        """Create a file with its contents; false if it is there already."""

    def replace(self, path: str, data: bytes) -> None:
        """Write a file with its contents, whatever was there."""

    def read(self, path: str) -> bytes:
        """The contents of a file."""

    def delete(self, path: str) -> None:
        """Remove a file, if it is there."""

    def files(self, folder: str) -> Iterator[str]:
        """The files below a folder, relative to it; none if there is no such folder."""

    def close(self) -> None:
        """Let go of connections."""
