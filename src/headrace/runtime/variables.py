"""Environment variables for the time of a block: what is started in it inherits them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager


@contextmanager
def variables_set(
    environment: MutableMapping[str, str], values: Mapping[str, str]
) -> Iterator[None]:
    """Set these in the environment and put back what was there."""
    before = {name: environment.get(name) for name in values}
    environment.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
