"""A local Spark that this Python starts uses this Python for its workers.

Spark looks for data sources, plans and reads them with the first `python3` of the PATH, whatever
Python has started it. From a virtual environment that is not activated, `format("headrace")` is
then unknown: DATA_SOURCE_NOT_FOUND. The variable PYSPARK_PYTHON mends that, if it is set while a
SparkContext starts: its JVM inherits it, and the context reads it once more for its own workers.
It is set for no longer than that, so neither a later context nor other programs see it.

`headrace.pth`, which is installed beside the packages, calls `watch` whenever Python starts. So
this is a package of its own that imports nothing (PYTEST_DONT_REWRITE: pytest finds it imported
already), and it does nothing until PySpark is imported. A variable that the user has set is left
as it is, and so is a Spark on a cluster: its machines have paths of their own.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_CONTEXT = "pyspark.core.context"
_VARIABLE = "PYSPARK_PYTHON"
_CHOSEN = (_VARIABLE, "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT")
# By these words a text of settings names a master, or a file that may.
_MAY_NAME_MASTER = ("master", "properties-file")


class _Watch:
    """A finder that leaves the finding to the others, and waits for the module of SparkContext.

    It stays where it is: importlib is on its way through the list of finders when it asks.
    """

    def __init__(self) -> None:
        self._asking = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != _CONTEXT or self._asking:
            return None
        from importlib.util import find_spec

        self._asking = True
        try:
            spec = find_spec(name)
        finally:
            self._asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


class _Loader:
    """Loads as the module's own loader does, and takes part in the class afterwards."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Tools that read the source through the loader later get the real one.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _wrap(module.SparkContext)


def watch() -> None:
    """Be there when PySpark starts a JVM. A folder of packages may be on Python's path twice."""
    if not any(type(finder) is _Watch for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


def _wrap(context: Any) -> None:
    """Have the class set the variable while it starts; only there is the master known."""
    from functools import wraps
    from inspect import signature

    start = context.__init__
    parameters = signature(start)

    @wraps(start)
    def start_here(self: Any, *args: Any, **kwargs: Any) -> None:
        given = parameters.bind(self, *args, **kwargs).arguments
        chosen = any(name in os.environ for name in _CHOSEN)
        ours = not chosen and given.get("gateway") is None
        ours = ours and is_local(given.get("master"), given.get("conf"))
        if ours:
            os.environ[_VARIABLE] = sys.executable
        try:
            start(self, *args, **kwargs)
        finally:
            if ours:
                os.environ.pop(_VARIABLE, None)
            _name_caller(self, sys._getframe(1))

    context.__init__ = start_here


def is_local(master: str | None, conf: Any) -> bool:
    """Whether the Spark to be started is known to run on this machine alone.

    If the program names no master, Spark takes one from its settings, then from the variable
    MASTER, and else it is local.
    """
    named = master or (conf and conf.get("spark.master"))
    if not named:
        settings = os.environ.get("PYSPARK_SUBMIT_ARGS", "") + _defaults()
        if any(word in settings for word in _MAY_NAME_MASTER):
            return False
        named = os.environ.get("MASTER") or "local"
    return str(named).startswith("local")


def _defaults() -> str:
    """The text of spark-defaults.conf, if there is one."""
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or f"{_find_spark_home()}/conf"
    try:
        with open(f"{folder}/spark-defaults.conf", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _name_caller(context: Any, caller: Any) -> None:
    """Spark says where a context was made: in the user's code, and not in ours."""
    place = getattr(context, "_callsite", None)
    if place is not None and place.file == __file__:
        found = {"file": caller.f_code.co_filename, "linenum": caller.f_lineno}
        context._callsite = place._replace(**found)
