"""Apache Hadoop's HDFS for tests: NameNode and DataNode in one JVM, its jars from Maven."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.kafka.toolchain import fetched, need, run
from tests.servers.server import HOST, Server, running

VERSION = "3.4.1"
HERE = Path(__file__).resolve().parent / "hdfs_cluster"
START_TIMEOUT_SECONDS = 300
FRUGAL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def hdfs_url(server: Server) -> str:
    """The address of the NameNode."""
    return f"hdfs://{HOST}:{server.port}"


def classpath() -> str:
    """The jars of the cluster, as `java -cp` takes them."""

    def fill(folder: Path) -> None:
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
        where = [f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
        run([need("mvn"), "-q", "-B", "-f", HERE / "pom.xml", copy, *where])

    need("java")
    return f"{fetched(f'hdfs-{VERSION}', fill)}/*"


@contextmanager
def hdfs() -> Iterator[Server]:
    """An empty file system."""
    jars = classpath()
    with TemporaryDirectory(prefix="headrace-hdfs-") as folder:
        home = Path(folder)
        java: list[str | Path] = [
            need("java"),
            *FRUGAL,
            "-cp",
            jars,
            HERE / "Hdfs.java",
            home / "data",
        ]
        with running(
            lambda port: Server(
                port,
                [*java, str(port)],
                home / "log",
                "HDFS is ready",
                {},
                None,
                start_timeout_s=START_TIMEOUT_SECONDS,
            )
        ) as server:
            yield server
