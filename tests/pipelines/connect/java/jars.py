"""Jars for the tests: Apache Kafka's FileStream connectors, and connectors compiled here."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.kafka.apache_kafka import VERSION
from tests.kafka.toolchain import fetched, need, run

HERE = Path(__file__).resolve().parent
_SERVICES = "META-INF/services/org.apache.kafka.connect."
ACME = {
    f"{_SERVICES}source.SourceConnector": "acme.Acme$Numbers\n",
    f"{_SERVICES}sink.SinkConnector": "# ours\nacme.Acme$Notes # for tests\n",
}


def file_stream() -> Path:
    """The folder with the jar of Kafka's FileStream connectors."""
    return artifact("org.apache.kafka:connect-file", VERSION)


def artifact(name: str, version: str) -> Path:
    """The folder with one jar of Maven's."""
    return _fetched(name, version, "copy", f"{name}:{version}")


def plugin_archive(name: str, version: str) -> Path:
    """A folder of `plugin.path` with a connector as its makers pack it: `-plugin.tar.gz`."""
    return _fetched(name, version, "unpack", f"{name}:{version}:tar.gz:plugin")


def _fetched(name: str, version: str, goal: str, what: str) -> Path:
    def fill(folder: Path) -> None:
        goals = f"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:{goal}"
        run([need("mvn"), "-q", "-B", goals, f"-Dartifact={what}", f"-DoutputDirectory={folder}"])

    return fetched(f"{name.rpartition(':')[2]}-{version}", fill)


def jar(path: Path, files: Mapping[str, str | bytes]) -> Path:
    """A jar that holds these files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def acme(classpath: str, folder: Path) -> Path:
    """A folder of `plugin.path` with the connectors of Acme.java."""
    compiler = Path(need("java")).with_name("javac")
    classes = folder / "classes"
    run([compiler, "-nowarn", "-d", classes, "-cp", classpath, HERE / "Acme.java"])
    files: dict[str, str | bytes] = dict(ACME)
    for each in sorted(classes.rglob("*.class")):
        files[str(each.relative_to(classes))] = each.read_bytes()
    jar(folder / "path" / "acme" / "acme-7.1.jar", files)
    return folder / "path"
