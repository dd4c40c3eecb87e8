"""Python processes of a session call back at once and import PySpark from its folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from headrace.pipelines.quick_workers import PATH, WORKER_PATH, quick_workers
from headrace.pipelines.worker_path.sitecustomize import ADDRESS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PYSPARK = Path(pyspark.__file__).parent
WORKER = "pyspark.sql.streaming.python_streaming_source_runner"
ARCHIVE = PYSPARK / "python" / "lib" / "pyspark.zip"


def ask(path: list[str | Path], question: str) -> str:
    environment = {**os.environ, PATH: os.pathsep.join(map(str, path))}
    command = [sys.executable, "-c", question]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_archive_is_passed_over_if_it_is_of_the_installed_package(tmp_path: Path) -> None:
    """Another archive stays: it may be another version."""
    other = tmp_path / "pyspark.zip"
    other.write_bytes(ARCHIVE.read_bytes())
    question = "import pyspark; print(pyspark.__file__)"
    assert ask([ARCHIVE], question).startswith(str(ARCHIVE))
    assert ask([ARCHIVE, WORKER_PATH], question) == str(PYSPARK / "__init__.py")
    assert ask([other, WORKER_PATH], question).startswith(str(other))


def test_the_users_own_customization_is_run_too(tmp_path: Path) -> None:
    """It would have been the one that Python finds."""
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.own = 7")
    assert ask([WORKER_PATH, tmp_path], "import sys; print(sys.own)") == "7"
    assert ask([tmp_path, WORKER_PATH], "import sys; print(sys.own)") == "7"


@contextmanager
def listening_at(address: str) -> Iterator[socket.socket]:
    """Where the JVM would wait for its worker."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.settimeout(60)
        listening.bind(address)
        listening.listen()
        yield listening


def worker_environment(address: str, *path: str | Path) -> dict[str, str]:
    environment = {**os.environ, PATH: os.pathsep.join(map(str, path)), ADDRESS: address}
    environment.pop("PYTHON_WORKER_FACTORY_SECRET", None)
    return environment


def test_a_worker_calls_back_before_it_imports_anything(tmp_path: Path) -> None:
    """And PySpark's own connection is that one: the JVM accepts a single one."""
    address = str(tmp_path / "socket")
    # It runs after the call, and before the worker's module.
    wait = "import sys; print('pyspark' in sys.modules, flush=True); sys.stdin.readline()"
    (tmp_path / "sitecustomize.py").write_text(wait)
    with listening_at(address) as listening:
        worker = subprocess.Popen(
            [sys.executable, "-m", WORKER],
            env=worker_environment(address, WORKER_PATH, tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        accepted, _ = listening.accept()  # the worker still waits for its input
    with accepted, accepted.makefile("rwb") as file:
        accepted.settimeout(60)
        file.write(b"\0\0\0\x030.0")
        file.flush()
        out, _ = worker.communicate("go on\n", timeout=60)
        pid = int.from_bytes(file.read(4), "big")
        assert (pid, out) == (worker.pid, "False\n")
        assert b"PYTHON_VERSION_MISMATCH" in file.read(), "the worker's own answer"


@pytest.mark.parametrize("words", [["launcher.py", "-m"], ["-c", "pass", "-m"], ["-m", "launcher"]])
def test_a_launcher_leaves_the_call_to_its_worker(tmp_path: Path, words: list[str]) -> None:
    """A PEX file or `conda run` is a Python too, whose own words name the worker's module."""
    (tmp_path / "launcher.py").write_text("")
    address = str(tmp_path / "socket")
    with listening_at(address) as listening:
        subprocess.run(
            [sys.executable, *words, WORKER],
            cwd=tmp_path,
            env=worker_environment(address, WORKER_PATH),
            check=True,
            timeout=60,
        )
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_the_path_is_for_the_jvm_alone() -> None:
    """What this process starts later does not inherit it."""
    for before in ({}, {PATH: "/mine"}):
        environment = {**before, "PYSPARK_PYTHON": sys.executable}
        with quick_workers(environment):
            assert environment[PATH].split(os.pathsep) == [WORKER_PATH, *before.values()]
        assert environment.get(PATH) == before.get(PATH)


def test_workers_of_the_session_read_the_folder(spark: SparkSession) -> None:
    """Asked of a worker itself."""

    def where(_: object) -> str:
        import pyspark

        return pyspark.__file__

    assert spark.sparkContext.parallelize([0], 1).map(where).first() == pyspark.__file__
