"""What the Python processes of a local Spark do before anything else.

Spark starts a process for the source of each streaming query and one for its sink, and gives up on
one that has not called back after ten seconds. That time is fixed in Spark's code; a process calls
back when it has imported PySpark, which takes longer than that on a machine that is busy. So

- it calls back at once, and PySpark is given the connection when it asks for one. A launcher that
  Spark was told to use as its Python (a PEX file, `conda run`) is a Python process as well, before
  the worker, and must leave the connection to it: Spark accepts a single one;
- PySpark is read from its folder. Spark puts `pyspark.zip` before everything else on the path, and
  what is imported from an archive is compiled each time, which is four times the work. The archive
  is passed over only if it is part of the very package that is found without it.

Python imports a module of this name at its start if the path has one; the next one on the path is
run too, as if this one were not there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

ADDRESS = "PYTHON_WORKER_FACTORY_SOCK_PATH"


def is_worker(command: Sequence[str]) -> bool:
    """Whether this is how Spark starts a worker: `python -m pyspark.…`, and nothing between."""
    return len(command) > 2 and command[1] == "-m" and command[2].startswith("pyspark.")


def call_back(environment: Mapping[str, str]) -> None:
    """Connect to the JVM if it waits for that; `connect` to the same place gives the connection."""
    address = environment.get(ADDRESS)
    if address is None:
        return
    import socket

    early = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        early.connect(address)
    except OSError:
        early.close()  # PySpark will try for itself, and say what is wrong
        return
    original = socket.socket.connect

    def connect(one: socket.socket, to: object) -> None:
        if to != address:
            original(one, to)  # type: ignore[arg-type]
            return
        os.dup2(early.fileno(), one.fileno(), inheritable=False)
        early.close()
        socket.socket.connect = original  # type: ignore[method-assign]

    socket.socket.connect = connect  # type: ignore[method-assign, assignment]


def pass_over_archive(path: list[str]) -> None:
    """Remove the archive of PySpark from the path if its folder is there, too."""
    for archive in [place for place in path if os.path.basename(place) == "pyspark.zip"]:
        others = [place for place in path if place != archive]
        found = PathFinder.find_spec("pyspark", others)
        folder = os.path.dirname(found.origin) if found is not None and found.origin else None
        if folder is not None and archive == os.path.join(folder, "python", "lib", "pyspark.zip"):
            path.remove(archive)


def run_next(path: list[str]) -> None:
    """Run the module that this one stands before."""
    here = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec("sitecustomize", [place for place in path if place != here])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if __name__ == "sitecustomize":
    if is_worker(sys.orig_argv):
        call_back(os.environ)
    pass_over_archive(sys.path)
    run_next(sys.path)
