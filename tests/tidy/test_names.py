"""Names: none that nobody uses, and none that two classes of the core share.

What counts as a use is a word in the source, the examples or the documents. Tests do not count: a
name that only tests use is dead, unless the list says what it is for.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.test_style import ROOT, SOURCES

WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")

CALLED_FROM_OUTSIDE = {
    "eof_received": "asyncio",
    "capture_signals": "uvicorn",
    "send_400_response": "uvicorn",
    "streamReader": "Spark",
    "streamWriter": "Spark",
    "initialOffset": "Spark",
    "getDefaultReadLimit": "Spark",
    "reportLatestOffset": "Spark",
    "prepareForTriggerAvailableNow": "Spark",
    "default_exception_handler": "asyncio",
    "get_debug": "asyncio",
    "is_running": "asyncio",
    "set_default_executor": "asyncio",
}
FOR_TESTS = {
    "DiskThreads": "public: threads of a simulated process",
    "break_node": "public: a node of a simulated network is gone",
    "build_batch": "the plain way to a batch, beside which the fast ones are tested",
    "expire_session": "the end of a session, which a store in memory has no clock for",
    "export_records": "a registry's contents as lines, with `import_records` and `key_snapshot`",
    "group_diagram": "the states of a group, compared with the picture in the module",
    "import_records": "see `export_records`",
    "key_snapshot": "see `export_records`",
    "member_diagram": "as `group_diagram`",
    "memory_bytes": "what a key map takes, compared with what it may take",
    "to_snapshot": "the state as a whole, to compare two",
    "write_at": "damages a file",
}

# Two ends of one thing, or the same thing for two readers. Messages have the names of Kafka's
# schemas, and every API has its own.
SHARED = {
    "AbortedTransaction": "as a log keeps it, and as a client reads it",
    "Broker": "what handlers see of it, and a process of it in a test",
    "Cluster": "as a client knows it, and processes of it in a test",
    "Connection": "the end of a broker, and the end of a client",
    "FetchSession": "the end of a leader, and the end of a follower",
    "Listener": "one that accepts connections, and its line in the settings",
    "Membership": "of a broker in its cluster, and of a classic group",
    "Operation": "what somebody is allowed to do, and one that a share coordinator does",
    "Parts": "those of the broker that a handler takes, one class per handler",
    "Reply": "one for each protocol that is spoken",
    "Source": "of text that is compiled, and of a compaction",
    "TopicMetadata": "as a client reads it, and as a group remembers it",
    "Unreachable": "a broker, and the tree",
}
CORE = (
    *("broker", "client", "cluster", "coordination", "coordinator", "credentials", "java"),
    *("librdkafka", "log", "quotas", "records", "replica", "runtime", "security", "testing"),
)


def definitions(path: Path) -> Iterator[str]:
    """Public names of a module and public methods of its classes. What has a decorator is used by
    it: an endpoint, a command, a message."""
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _undecorated(node)
            case ast.ClassDef():
                yield from _undecorated(node)
                for each in node.body:
                    if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                        yield from _undecorated(each, "property")
            case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
                yield name


def _undecorated(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, *plain: str
) -> Iterator[str]:
    others = [each for each in node.decorator_list if ast.unparse(each) not in plain]
    if not others:
        yield node.name


def test_no_dead_names() -> None:
    """A name that nothing but its own definition mentions is deleted."""
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "pyproject.toml"]
    programs = [*(ROOT / "examples").rglob("*.py"), *(ROOT / "docs").glob("*.py")]
    programs += (ROOT / "src").rglob("*.java")
    words: Counter[str] = Counter()
    for path in (*SOURCES, *programs, *pages):
        words.update(WORD.findall(path.read_text()))
    defined = Counter(name for path in SOURCES for name in definitions(path))
    dead = {
        name for name, count in defined.items() if not name.startswith("_") and words[name] <= count
    }
    known = CALLED_FROM_OUTSIDE.keys() | FOR_TESTS.keys()
    assert sorted(dead - known) == []


def test_the_glossary_names_what_exists() -> None:
    """The last column is a module or a room; classes in the first one are in it."""
    rows = re.findall(
        r"^\| (.+) \| .+ \| `(.+)` \|$", (ROOT / "docs/glossary.md").read_text(), re.M
    )
    assert len(rows) > 30
    for word, place in rows:
        path = ROOT / "src" / "headrace" / place
        assert path.exists(), f"{word}: {place} does not exist"
        for name in re.findall(r"`([A-Z]\w+)`", word):
            assert f"class {name}" in path.read_text(), f"{place} has no class {name}"


def test_names_of_classes_say_which_one() -> None:
    """A public class of the core has its name alone, or the list says why not."""
    found: Counter[str] = Counter()
    for room in CORE:
        for path in (ROOT / "src" / "headrace" / room).rglob("*.py"):
            tree = ast.parse(path.read_text())
            found.update(each.name for each in tree.body if isinstance(each, ast.ClassDef))
    shared = {name for name, count in found.items() if count > 1 and not name.startswith("_")}
    assert sorted(shared - SHARED.keys()) == []
