"""CRC-32C, the checksum of every batch, without the price of its package's front door.

`import crc32c` reads the package's own metadata to learn its version, and for that pulls in a mail
parser, a zip reader and a socket module: 30 ms and 3.4 MB in each broker process. The one function
needed here lives in the package's extension module, which is loaded on its own. Should a later
release move it, the public import still works and costs only what it always did.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Protocol

from headrace.types import Buffer


class Checksum(Protocol):
    def __call__(self, data: Buffer, value: int = 0, /) -> int:
        """The checksum of `data`, going on from `value`, that of the bytes before."""
        ...


def _load() -> Checksum:
    package = PathFinder.find_spec("crc32c")
    if package is not None and package.submodule_search_locations:
        spec = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            function: Checksum | None = getattr(module, "crc32c", None)
            if function is not None:
                return function
    from crc32c import crc32c as public

    return public


crc32c: Checksum = _load()
