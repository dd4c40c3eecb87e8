"""Functions compiled by numba, and where the result is kept.

A kernel is compiled at its first call and kept on disk, so that the next process only loads it:

    PLACE                          WHEN
    the folder NUMBA_CACHE_DIR     it is set
    `__pycache__` of the module    it can be written
    the user's cache folder        otherwise
    nowhere                        none can be written: every process compiles for itself

numba asks whether a kernel's own file has changed, but most of a kernel is inlined from other
files. What is kept is therefore in a folder that is named after all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Final, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy"}
_TABLES: Final = ("kernels", "layout", "opcodes", "wire")
"""Modules, besides those of kernels, whose constants become part of compiled code."""
_ROOMS: Final = Path(__file__).parent.parent
_config: Final[Any] = numba.config
_deciding: Final = Lock()


def compiled(function: Function) -> Function:
    """A kernel: what Python calls.

    Arguments must always have the same types: numba takes a read-only array for a type of its own
    and would compile again.
    """
    try:
        with _kept_for(Path(function.__code__.co_filename)):
            return cast(Function, numba.njit(cache=True, **_OPTIONS)(function))
    except (OSError, RuntimeError):
        return cast(Function, numba.njit(**_OPTIONS)(function))


def inlined(function: Function) -> Function:
    """Becomes a part of its callers: passing many arrays would cost more than the work."""
    return cast(Function, numba.njit(forceinline=True, **_OPTIONS)(function))


@contextmanager
def _kept_for(module: Path) -> Iterator[None]:
    """While it lasts, numba keeps kernels where those of a module belong."""
    if not module.is_file():
        # A package inside of an archive: numba finds a place by itself.
        yield
        return
    with _deciding:
        before = _config.CACHE_DIR
        _config.CACHE_DIR = str(_folder(module.parent, before))
        try:
            yield
        finally:
            _config.CACHE_DIR = before


@cache
def _folder(beside: Path, chosen: str) -> Path:
    for place in (Path(chosen),) if chosen else (beside / "__pycache__", _users_folder()):
        folder = place / f"kernels-{_sources()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    raise OSError("no folder can be written")


def _users_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"


@cache
def _sources() -> str:
    """A digest of everything that a kernel may be made of."""
    digest = sha256()
    for path in sorted(_ROOMS.rglob("*.py")):
        if path.stem in _TABLES or path.stem.endswith("_kernel") or path.parent.stem in _TABLES:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
