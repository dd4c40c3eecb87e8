"""The README and the guides do what they say: their blocks run, in the order in which they stand.

Pages that take minutes (Spark, clusters of several processes) run with `make docs-test`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, pages, read
from tests.docs.network import private_network

LONG = {
    "develop/groups.md",
    "develop/testing.md",
    "operate/cluster.md",
    "operate/operations.md",
    "operate/zookeeper.md",
    "start/command-line.md",
}
CHEAP = [
    page
    for page in pages()
    if any(block.runs for block in read(page))
    and page.parent.name != "spark"
    and f"{page.parent.name}/{page.name}" not in LONG
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", CHEAP, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page: Path) -> None:
    """As a reader types them, in a network of their own; what is shown is what is printed."""
    network = private_network()
    if network is None:
        pytest.skip("no network namespace can be made here: run as root, or allow user namespaces")
    command = [*network, sys.executable, "-m", "tests.docs", "--here-quick", str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
