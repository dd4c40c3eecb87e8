"""From `shop.orders:pipeline` or `shop/orders.py:pipeline` to the function itself.

The folder that a module is looked for in is put on the path of this process and, through the
environment, of Spark's Python workers, which import the same module when they unpickle a function.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.errors import HeadraceError
from headrace.pipelines.run.causes import cause_of

Function: TypeAlias = Callable[[Any], Any]
_LOADING: Final = threading.Lock()
"""No thread may see a module that another one has not imported to its end."""


class NoSuchPipeline(HeadraceError):
    """What was named is not there, cannot be imported or is no function."""


class Pipeline(NamedTuple):
    """A function from a session to queries, and where it came from."""

    target: str
    function: Function
    module: ModuleType


def check_target(target: str, folder: Path) -> None:
    """Refuse what cannot be there, without importing the module itself."""
    where, _ = _split(target)
    if where.endswith(".py"):
        path = (folder / where).resolve()
        if not path.is_file():
            raise NoSuchPipeline(f"there is no file {path}")
        return
    _add_to_path(folder)
    try:
        found = importlib.util.find_spec(where) is not None
    except ModuleNotFoundError as fault:
        found = not _is_part_of(fault.name, where)  # else something that it imports is missing
    except (ImportError, ValueError):
        found = True  # the import itself will tell more
    if not found:
        raise NoSuchPipeline(
            f"there is no module {where} in {folder} or among the installed packages"
            f"{_meant_as_file(where, folder)}"
        )


def load_pipeline(target: str, folder: Path) -> Pipeline:
    """Import the module, from `folder` first, and find the function in it."""
    where, name = _split(target)
    check_target(target, folder)
    module = _load_file(where, folder) if where.endswith(".py") else _load_module(where)
    function = getattr(module, name, None)
    if function is None:
        close = get_close_matches(name, _functions_of(module), n=3)
        known = close or _functions_of(module)
        hint = f"it has {', '.join(known)}" if known else "it has no functions"
        raise NoSuchPipeline(f"{where} has no function {name}; {hint}")
    if not callable(function):
        raise NoSuchPipeline(
            f"{target} is a {type(function).__name__}, not a function; "
            "a pipeline is a function that takes the session and returns its queries"
        )
    return Pipeline(target, function, module)


def default_name(target: str) -> str:
    """`shop.orders:pipeline` and `shop/orders.py:pipeline` are both kept as orders.pipeline."""
    where, name = _split(target)
    return f"{Path(where).stem if where.endswith('.py') else where.rpartition('.')[2]}.{name}"


def function_name(target: str) -> str:
    return _split(target)[1]


def _split(target: str) -> tuple[str, str]:
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name.isidentifier():
        raise NoSuchPipeline(
            f'"{target}" names no pipeline; write MODULE:FUNCTION or path/to/file.py:FUNCTION'
        )
    return where, name


def _functions_of(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
    ]


def _load_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as fault:
        raise _broken(name, fault) from fault


def _is_part_of(missing: str | None, name: str) -> bool:
    return missing is not None and f"{name}.".startswith(f"{missing}.")


def _meant_as_file(name: str, folder: Path) -> str:
    """A hint for whoever writes `shop/orders:pipeline`."""
    file = Path(f"{name}.py")
    return f"; for the file write {file}:FUNCTION" if (folder / file).is_file() else ""


def _load_file(where: str, folder: Path) -> ModuleType:
    with _LOADING:
        return _load_once(where, (folder / where).resolve())


def _load_once(where: str, path: Path) -> ModuleType:
    _add_to_path(path.parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise NoSuchPipeline(f"{path} cannot be imported")
    known = sys.modules.get(path.stem)
    if known is not None:
        if getattr(known, "__file__", None) == str(path):
            return known
        raise NoSuchPipeline(
            f"{path} has the name of the module {path.stem}, which is in use; rename the file"
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as fault:
        del sys.modules[path.stem]
        raise _broken(where, fault) from fault
    return module


def _broken(where: str, fault: Exception) -> NoSuchPipeline:
    return NoSuchPipeline(f"{where} cannot be imported: {cause_of(fault)}; see --debug")


def _add_to_path(folder: Path) -> None:
    place = str(folder)
    if place not in sys.path:
        sys.path.insert(0, place)
    inherited = os.environ.get("PYTHONPATH")
    if place not in (inherited or "").split(os.pathsep):
        os.environ["PYTHONPATH"] = f"{place}{os.pathsep}{inherited}" if inherited else place
