"""Where ZooKeeper's jars are: those that somebody has chosen, PySpark's, or the system's.

PySpark's wheel carries a whole ZooKeeper for its own recovery mode, so whoever can run pipelines
can run a cluster too. Only the jars that a server needs are taken: a class path with all of Spark
would make the JVM look through three hundred of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from headrace.errors import ConfigError

SYSTEM_PLACES: Final = ("/usr/share/java",)
MAIN_CLASS: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_NEEDED: Final = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-[0-9]*.jar",
    "slf4j-api-[0-9]*.jar",
    "metrics-core-[0-9]*.jar",
    "snappy-java-[0-9]*.jar",
    "log4j-api-[0-9]*.jar",
    "log4j-core-[0-9]*.jar",
    "log4j-slf4j2-impl-[0-9]*.jar",
)
_SYSTEM_NEEDED: Final = (
    "zookeeper.jar",
    "zookeeper-jute.jar",
    "slf4j-api.jar",
    "slf4j-log4j12.jar",
    "slf4j-simple.jar",
    "log4j-1.2.jar",
    "metrics-core*.jar",
    "snappy-java.jar",
    "netty*.jar",
    "audience-annotations.jar",
)


def class_path(environment: Mapping[str, str], places: Sequence[str] = SYSTEM_PLACES) -> str:
    """What to give `java -cp`; ConfigError with a remedy if there is no ZooKeeper."""
    if home := environment.get("ZOOKEEPER_HOME"):
        folders = [Path(home, "lib"), Path(home)]
        jars = [str(jar) for folder in folders for jar in sorted(folder.glob("*.jar"))]
        if not any(Path(jar).name.startswith("zookeeper") for jar in jars):
            raise ConfigError(f"ZOOKEEPER_HOME is {home}, where there is no zookeeper jar")
        return ":".join(jars)
    given = environment.get("CLASSPATH", "")
    if any(Path(entry).name.startswith("zookeeper") for entry in given.split(":")):
        return given
    if jars := _pyspark():
        return ":".join(jars)
    for place in places:
        jars = _matching(Path(place), _SYSTEM_NEEDED)
        if jars and Path(jars[0]).name == "zookeeper.jar":
            return ":".join(jars)
    raise ConfigError(
        "there is no ZooKeeper on this machine: pip install headrace[spark], which brings its jars,"
        " or apt install libzookeeper-java, or set ZOOKEEPER_HOME to an unpacked release"
    )


def _pyspark() -> list[str]:
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        return []
    jars = _matching(Path(spec.submodule_search_locations[0], "jars"), _NEEDED)
    return jars if jars and Path(jars[0]).name.startswith("zookeeper-") else []


def _matching(folder: Path, patterns: Sequence[str]) -> list[str]:
    return [str(jar) for pattern in patterns for jar in sorted(folder.glob(pattern))]
