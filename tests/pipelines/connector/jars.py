"""The jars of Spark's own Kafka connector, to compare the source with.

They must be on the class path when a JVM starts, so the one session of all tests is given them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.kafka.toolchain import REPOSITORY, cache_dir, fetched, need, run

POM = REPOSITORY / "benchmarks" / "spark" / "pom.xml"
FOLDER = "spark-connector-4.2.0"


def connector_jars() -> tuple[Path, ...]:
    """The jars, fetched by Maven on first use; none where neither Maven nor the jars are there."""
    if shutil.which("mvn") is None and not (cache_dir() / FOLDER).exists():
        return ()

    def fill(folder: Path) -> None:
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
        where = [f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
        run([need("mvn"), "-q", "-B", "-f", POM, copy, *where])

    return tuple(sorted(fetched(FOLDER, fill).glob("*.jar")))


def extra_jars() -> str:
    """The value of `spark.jars` for the session of the tests."""
    return ",".join(str(jar) for jar in connector_jars())
