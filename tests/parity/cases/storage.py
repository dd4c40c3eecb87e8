"""`kafka-storage`: what does not need a quorum of controllers."""

from __future__ import annotations

from typing import Any

from tests.parity.case import Case, Step
from tests.parity.stage import Stage, file

ID = "MkU3OEVBNTcwNTJENDM2Qg"
CONFIG = file(
    "server.properties",
    """
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
advertised.listeners=PLAINTEXT://127.0.0.1:9092
log.dirs={folder}/one,{folder}/two
""",
)
NO_LOG = "there is no metadata log, so nothing is told of its first records, or of its voters"


def folder(name: str, node_id: int | None = None) -> Step:
    """A data folder, formatted for a node or empty."""

    def step(stage: Stage) -> None:
        path = stage.folder / name
        path.mkdir()
        if node_id is not None:
            lines = ["version=1", f"cluster.id={ID}", f"node.id={node_id}"]
            lines.append(f"directory.id=9eGJov9JRjCB9HQZFDk{name}")
            (path / "meta.properties").write_text("\n".join([*lines, ""]))

    return step


def case(words: str, *setup: Step, **more: Any) -> Case:
    return Case("kafka-storage", words, setup=setup, **more)


INFO = "info -c {folder}/server.properties"
FORMAT = f"format -c {{folder}}/server.properties -t {ID}"
BOTH = (CONFIG, folder("one", 1), folder("two", 1))
CASES = [
    case("version-mapping"),
    case("version-mapping -r 4.1"),
    case("version-mapping --release-version 1.0"),
    case("feature-dependencies --feature share.version=1"),
    case("feature-dependencies -f eligible.leader.replicas.version=1"),
    case("feature-dependencies -f nonsense=1"),
    case("feature-dependencies"),
    case(INFO, CONFIG, name="info of nothing"),
    case(INFO, CONFIG, folder("one"), folder("two", 1), name="info of one that is not formatted"),
    case(INFO, *BOTH, name="info of what is well"),
    case(INFO, CONFIG, folder("one", 1), folder("two", 2), name="info of two nodes"),
    case(f"{FORMAT} --standalone", CONFIG, differs=NO_LOG),
    case(f"{FORMAT} --standalone", *BOTH, name="format again"),
    case(f"{FORMAT} --standalone -g", *BOTH),
    case(f"format -t {ID}"),
    case("format -c {folder}/server.properties", CONFIG),
    case("nonsense"),
    case("info"),
]
