"""`make docs-test`: run the blocks of the README and the guides as a reader would.

python -m tests.docs                          every page
python -m tests.docs README.md spark/         the pages whose names contain one of these
python -m tests.docs --quick README.md        without the blocks that take minutes
python -m tests.docs --list                   what runs and what is exempt, and why
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT, RUN, pages, read
from tests.docs.network import private_network, raise_loopback
from tests.docs.running import Page, PageFailed


def list_blocks() -> None:
    """A line per page, and each exemption with its reason."""
    total = exempt = 0
    for page in pages():
        blocks = [b for b in read(page) if b.language in RUN and not b.hidden]
        left_out = [b for b in blocks if not b.runs]
        total += len(blocks)
        exempt += len(left_out)
        print(f"{len(blocks) - len(left_out):4} run  {page.relative_to(ROOT)}")
        for block in left_out:
            print(f"          line {block.line} is exempt: {block.reason}")
    print(f"{total} blocks, {exempt} exempt ({exempt / total:.0%})")


def run_here(page: Path, slow: bool) -> int:
    """Run one page in the network of this process."""
    try:
        with Page(page, slow) as running:
            ran = running.run()
    except PageFailed as fault:
        print(fault)
        return 1
    print(f"{ran:4} blocks ran  {page.relative_to(ROOT)}")
    return 0


def run_isolated(page: Path, slow: bool) -> int:
    """Run one page in a network of its own."""
    words = private_network()
    if words is None:
        print("no network namespace can be made here: run as root, or allow user namespaces")
        return 2
    how = "--here" if slow else "--here-quick"
    command = [*words, sys.executable, "-m", "tests.docs", how, str(page)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def is_set_up() -> bool:
    """Whether `make setup` of a page finds nothing to do: the pages share this environment."""
    return (
        subprocess.run(["make", "--question", "setup-dev"], cwd=ROOT, check=False).returncode == 0
    )


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--list"]:
        list_blocks()
        return 0
    if arguments[:1] in (["--here"], ["--here-quick"]):
        raise_loopback()
        return run_here(Path(arguments[1]), slow=arguments[0] == "--here")
    slow = arguments[:1] != ["--quick"]
    if not slow:
        arguments = arguments[1:]
    if any(word.startswith("-") for word in arguments):
        print(__doc__)
        return 2
    if not is_set_up():
        print("the virtual environment is older than the requirements: run `make setup-dev` first")
        return 2
    wanted = [
        page
        for page in pages()
        if any(block.runs for block in read(page))
        and (not arguments or any(word in str(page.relative_to(ROOT)) for word in arguments))
    ]
    return max((run_isolated(page, slow) for page in wanted), default=2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
