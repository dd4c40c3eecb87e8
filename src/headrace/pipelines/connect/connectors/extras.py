"""Libraries that only some connectors need, imported when a task of theirs begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.pipelines.connect.faults import ConnectException


@contextmanager
def needed_by(connector: str) -> Iterator[None]:
    """Import inside of it: a package that is missing is named with how to install it."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise ConnectException(
            f"{connector} needs the package {missing.name}: pip install 'headrace[connect]'"
        ) from missing
