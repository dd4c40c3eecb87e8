"""franz-go, the Go client that uses the newest version of every request."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.clients.drivers.program import ForeignClient
from tests.kafka.toolchain import fetched, need, run

FOLDER = Path(__file__).resolve().parents[1] / "go"


def franz_go_client(bootstrap: str, scratch: Path) -> ForeignClient:
    """Built once per version of its source and of its modules, which go.sum pins."""
    go = need("go")
    sources = sorted(path for path in FOLDER.iterdir() if path.is_file())
    version = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]

    def fill(folder: Path) -> None:
        run([go, "build", "-o", folder / "client", "."], cwd=FOLDER)

    program = fetched(f"franz-go-{version}", fill) / "client"
    return ForeignClient(bootstrap, [program], stderr_path=scratch / "franz-go.err")
