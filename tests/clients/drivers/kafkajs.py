"""kafkajs 2.2.4, the most used client for Node.js."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from tests.clients.drivers.program import ForeignClient
from tests.kafka.toolchain import fetched, need, run

FOLDER = Path(__file__).resolve().parents[1] / "node"


class KafkaJs(ForeignClient):
    # kafkajs keeps headers in an object: the order across names is lost when it writes,
    # and it cannot write a null one.
    refuses = frozenset({"duplicate headers", "null header"})


def kafkajs_client(bootstrap: str, scratch: Path) -> KafkaJs:
    """Its packages land in the cache, by the exact versions of package.json."""
    node = need("node")
    package = FOLDER / "package.json"
    version = hashlib.sha256(package.read_bytes()).hexdigest()[:12]

    def fill(folder: Path) -> None:
        shutil.copy(package, folder)
        quiet = ["--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        run([need("npm"), "install", *quiet], cwd=folder)

    modules = fetched(f"kafkajs-{version}", fill) / "node_modules"
    command: list[str | Path] = [node, FOLDER / "kafkajs_client.js"]
    return KafkaJs(
        bootstrap,
        command,
        stderr_path=scratch / "kafkajs.err",
        env={"NODE_PATH": str(modules), "KAFKAJS_NO_PARTITIONER_WARNING": "1"},
    )
