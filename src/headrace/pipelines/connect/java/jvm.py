"""The JVM of Java connectors: Spark's if this process has a session, otherwise one of its own.

Either way `Agent.java` listens on a port of the loopback and is told a secret. It is compiled by
Janino, which is in every PySpark, so that any Java will do and no jar of ours is needed (decision
0020). A JVM of its own is started on first use and ends with this process.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from headrace.java.installation import JavaMissing, find_java
from headrace.pipelines.connect.faults import ConnectException

_PACKAGE: Final = "headrace.pipelines.connect.java"
_HERE: Final = Path(__file__).resolve().parent
_SOURCES: Final = _HERE.parents[len(_PACKAGE.split(".")) - 1]
_AGENT: Final = _HERE / "Agent.java"
_COMPILER: Final = "org.codehaus.janino.SimpleCompiler"
_NEEDED: Final = ("janino-[0-9]*.jar", "commons-compiler-[0-9]*.jar")
_HEAP: Final = "KAFKA_HEAP_OPTS"
"""The variable in which Kafka's own scripts look for the size of the heap."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an agent listens, and what it must be told."""

    port: int
    secret: str


@dataclass(frozen=True, slots=True)
class _Own:
    process: subprocess.Popen[bytes]
    address: Address


_starting: Final = threading.Lock()
_own: _Own | None = None
_in_spark: tuple[object, Address] | None = None


def jvm() -> Address:
    """The JVM for Java connectors, started if need be; ConnectException says what is missing."""
    global _in_spark, _own
    with _starting:
        inside = _spark()
        if inside is not None:
            if _in_spark is None or _in_spark[0] is not inside:
                _in_spark = (inside, _started_in(inside))
            return _in_spark[1]
        if _own is None or _own.process.poll() is not None:
            _own = _started()
        return _own.address


def _spark() -> Any:
    """The gateway to the JVM of this process's session, if there is one."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext

    active = SparkContext._active_spark_context
    return None if active is None else active._jvm


def _started_in(inside: Any) -> Address:
    secret = secrets.token_hex(16)
    compiler = inside.org.codehaus.janino.SimpleCompiler()
    loader = compiler.getClass().getClassLoader()
    compiler.setParentClassLoader(loader)
    compiler.cook(_AGENT.read_text())
    kind = compiler.getClassLoader().loadClass(f"{_PACKAGE}.Agent")
    maker = next(iter(kind.getConstructors()))
    arguments = inside.java.util.ArrayList()
    arguments.add(str(_SOURCES))
    arguments.add(secret)
    agent = maker.newInstance(arguments.toArray())
    agent.start()
    return Address(int(agent.port()), secret)


def _started() -> _Own:
    try:
        java = find_java(os.environ) / "bin" / "java"
    except JavaMissing as missing:
        raise ConnectException(f"Java connectors need a JVM: {missing}") from missing
    heap = os.environ.get(_HEAP, "-Xmx1g").split()
    command = [str(java), *heap, "-cp", ":".join(_janino()), _COMPILER, str(_AGENT)]
    secret = secrets.token_hex(16)
    process = subprocess.Popen(
        [*command, f"{_PACKAGE}.Agent", str(_SOURCES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{secret}\n".encode())
        process.stdin.flush()
        told = process.stdout.readline().strip()
    except OSError:
        told = b""
    if not told.isdigit():
        process.kill()
        process.wait()
        raise ConnectException(
            f"the JVM of Java connectors did not start; its standard error says why. "
            f"Java is {java}, {_HEAP} is {' '.join(heap)}"
        )
    return _Own(process, Address(int(told), secret))


def _janino() -> list[str]:
    """The jars of the compiler."""
    spec = find_spec("pyspark")
    folder = Path(spec.origin).parent / "jars" if spec is not None and spec.origin else None
    jars = [] if folder is None else [str(jar) for name in _NEEDED for jar in folder.glob(name)]
    if len(jars) < len(_NEEDED):
        raise ConnectException(
            "Java connectors need the compiler that comes with PySpark: "
            "pip install 'headrace[spark]'"
        )
    return jars
