"""What every store of the coordination tree promises, on each of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.memory import MemoryStore
from headrace.coordination.sqlite import SqliteTree
from headrace.coordination.tree import (
    MAX_DATA_BYTES,
    BadVersion,
    Check,
    Create,
    Delete,
    Event,
    InvalidNode,
    NoChildrenForEphemerals,
    Node,
    NodeChange,
    NodeEvent,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    SessionLost,
    Set,
    Tree,
    TreeError,
    check_path,
    is_below,
    parent_of,
)
from headrace.coordination.zookeeper import connect


@pytest.fixture(params=["memory", "sqlite", "zookeeper"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tree]:
    opened: Tree
    if request.param == "memory":
        opened = MemoryStore().session()
    elif request.param == "sqlite":
        opened = SqliteTree(str(tmp_path / "tree.sqlite"))
    else:
        opened = connect(request.getfixturevalue("zookeeper_connect"))
    yield opened
    opened.close()


def settle(tree: Tree) -> None:
    """Return when all callbacks of earlier changes have run: events keep the order of commits."""
    passed = threading.Event()
    cancel = tree.watch("/fence", lambda _: passed.set())
    tree.create("/fence", b"")
    assert passed.wait(20)
    cancel()


def before_fence(heard: Sequence[Event]) -> list[Event]:
    fence = NodeEvent(NodeChange.CREATED, "/fence")
    return list(heard[: heard.index(fence)])


def test_a_created_node_is_read_back_with_version_zero(tree: Tree) -> None:
    """A new node has the data it was given, version 0 and is persistent."""
    assert tree.create("/brokers", b"x") == "/brokers"
    assert tree.get("/brokers") == Node(b"x", 0, ephemeral=False)
    assert tree.exists("/brokers")


def test_a_missing_node_is_named(tree: Tree) -> None:
    """Reading what is not there raises NoNode with the path; `exists` and `subtree` just say no."""
    with pytest.raises(NoNode, match="/nowhere"):
        tree.get("/nowhere")
    with pytest.raises(NoNode, match="/nowhere"):
        tree.children("/nowhere")
    assert not tree.exists("/nowhere")
    assert tree.subtree("/nowhere") == {}


def test_every_set_adds_one_to_the_version(tree: Tree) -> None:
    """`set` returns the new version, which is what a later compare-and-set must name."""
    tree.create("/a", b"")
    assert tree.set("/a", b"1") == 1
    assert tree.set("/a", b"2", version=1) == 2
    assert tree.get("/a") == Node(b"2", 2)


def test_a_stale_version_is_refused(tree: Tree) -> None:
    """Compare-and-set: whoever read an older version changes and deletes nothing."""
    tree.create("/a", b"0")
    tree.set("/a", b"1")
    with pytest.raises(BadVersion, match=r"the version is (1, )?not 0"):
        tree.set("/a", b"2", version=0)
    with pytest.raises(BadVersion):
        tree.delete("/a", version=0)
    assert tree.get("/a") == Node(b"1", 1)


def test_a_recreated_node_begins_again_at_version_zero(tree: Tree) -> None:
    """Deletion forgets the version, as in ZooKeeper."""
    tree.create("/a", b"")
    tree.set("/a", b"")
    tree.delete("/a", version=1)
    tree.create("/a", b"new")
    assert tree.get("/a").version == 0


def test_a_node_cannot_be_created_twice(tree: Tree) -> None:
    """NodeExists protects the first creator: this is how a controller is elected."""
    tree.create("/controller", b"1")
    with pytest.raises(NodeExists, match="/controller"):
        tree.create("/controller", b"2")
    with pytest.raises(NodeExists):
        tree.create("/", b"")
    assert tree.get("/controller").data == b"1"


def test_a_parent_must_exist_and_be_persistent(tree: Tree) -> None:
    """No node hangs in the air, and nothing is lost with somebody's session."""
    with pytest.raises(NoNode, match="the parent /a does not exist"):
        tree.create("/a/b", b"")
    tree.create("/e", b"", ephemeral=True)
    assert tree.get("/e").ephemeral
    with pytest.raises(NoChildrenForEphemerals, match="/e is ephemeral"):
        tree.create("/e/child", b"")


def test_a_node_with_children_is_not_deleted(tree: Tree) -> None:
    """NotEmpty: deleting is done leaf by leaf."""
    tree.multi([Create("/a"), Create("/a/b")])
    with pytest.raises(NotEmpty, match="children"):
        tree.delete("/a")
    tree.delete("/a/b")
    tree.delete("/a")
    assert not tree.exists("/a")
    with pytest.raises(InvalidNode, match="root"):
        tree.delete("/")


def test_children_are_sorted_names(tree: Tree) -> None:
    """`children` gives names, not paths, in order; the root has children too."""
    for name in ("c", "a", "b"):
        tree.create(f"/{name}", b"")
    tree.create("/a/z", b"")
    assert tree.children("/") == ["a", "b", "c"]
    assert tree.children("/a") == ["z"]
    assert tree.children("/b") == []


def test_subtree_reads_a_whole_branch_with_parents_first(tree: Tree) -> None:
    """One read gives the node and everything below it, and nothing beside it."""
    for path in ("/a", "/a/2", "/a/1", "/a/1/x", "/ab"):
        tree.create(path, path.encode())
    assert list(tree.subtree("/a")) == ["/a", "/a/1", "/a/1/x", "/a/2"]
    assert tree.subtree("/a")["/a/1/x"] == Node(b"/a/1/x", 0)
    assert list(tree.subtree("/")) == ["/", "/a", "/a/1", "/a/1/x", "/a/2", "/ab"]


def test_subtrees_reads_several_branches_at_once(tree: Tree) -> None:
    """One answer for each path in the order asked for, also where there is nothing or overlap."""
    for path in ("/a", "/a/1", "/b", "/b/1", "/b/1/x"):
        tree.create(path, path.encode())
    branches = tree.subtrees(["/b", "/nowhere", "/a", "/b/1", "/b"])
    assert branches == [tree.subtree(p) for p in ("/b", "/nowhere", "/a", "/b/1", "/b")]
    assert list(branches[0]) == ["/b", "/b/1", "/b/1/x"]
    assert list(branches[3]) == ["/b/1", "/b/1/x"]
    assert branches[1] == {}
    assert tree.subtrees([]) == []
    with pytest.raises(InvalidNode):
        tree.subtrees(["/a", "a"])


def test_sequential_nodes_get_growing_numbers(tree: Tree) -> None:
    """Ten digits are appended, and a number is not used again after its node was deleted."""
    tree.create("/q", b"")
    first = tree.create("/q/n-", b"", sequential=True)
    assert first == "/q/n-0000000000"
    tree.delete(first)
    assert tree.create("/q/n-", b"", sequential=True) == "/q/n-0000000001"


def test_multi_does_all_operations_in_order(tree: Tree) -> None:
    """Later operations of a transaction see what earlier ones did."""
    tree.multi(
        [
            Create("/a"),
            Create("/a/b", b"1"),
            Set("/a/b", b"2", version=0),
            Check("/a/b", 1),
            Create("/gone"),
            Delete("/gone"),
        ]
    )
    assert tree.get("/a/b") == Node(b"2", 1)
    assert not tree.exists("/gone")
    tree.multi([])


@pytest.mark.parametrize(
    ("failing", "error"),
    [
        (Create("/old"), NodeExists),
        (Create("/x/y"), NoNode),
        (Set("/old", b"", 7), BadVersion),
        (Set("/missing", b""), NoNode),
        (Check("/old", 3), BadVersion),
        (Check("/missing"), NoNode),
        (Delete("/parent"), NotEmpty),
        (Delete("/missing"), NoNode),
        (Create("relative"), InvalidNode),
    ],
)
def test_multi_does_nothing_when_one_operation_fails(
    tree: Tree, failing: Op, error: type[TreeError]
) -> None:
    """All or nothing: the error names the operation, and nothing before it remains."""
    for path in ("/old", "/parent", "/parent/child"):
        tree.create(path, b"data")
    tree.create("/parent/s-", b"", sequential=True)
    before = tree.subtree("/")
    heard: list[Event] = []
    tree.watch("/", heard.append)
    ops: list[Op] = [
        Create("/new"),
        Create("/new/child"),
        Set("/old", b"changed"),
        Delete("/parent/child"),
        Create("/parent/s-", sequential=True),
        failing,
    ]
    with pytest.raises(error, match="operation 6 of 6") as caught:
        tree.multi(ops)
    assert caught.value.op_index == 5
    assert caught.value.path == failing.path
    assert tree.subtree("/") == before
    settle(tree)
    assert before_fence(heard) == []
    assert tree.create("/parent/s-", b"", sequential=True).endswith("0000000002")


def test_watch_hears_committed_changes_below_its_path(tree: Tree) -> None:
    """A watch stays, covers its subtree, and reports in the order of the commits."""
    tree.create("/a", b"")
    heard: list[Event] = []
    cancel = tree.watch("/a", heard.append)
    tree.create("/a/b", b"")
    tree.set("/a/b", b"1")
    tree.create("/ab", b"")
    tree.delete("/a/b")
    settle(tree)
    assert heard == [
        NodeEvent(NodeChange.CREATED, "/a/b"),
        NodeEvent(NodeChange.CHILDREN_CHANGED, "/a"),
        NodeEvent(NodeChange.CHANGED, "/a/b"),
        NodeEvent(NodeChange.DELETED, "/a/b"),
        NodeEvent(NodeChange.CHILDREN_CHANGED, "/a"),
    ]
    cancel()
    tree.set("/a", b"2")
    tree.delete("/fence")
    settle(tree)
    assert len(heard) == 5


def test_a_callback_may_read_the_tree_it_hears_of(tree: Tree) -> None:
    """Events come after the commit and outside the lock: the tree already shows the change."""
    seen: list[bytes] = []
    tree.create("/a", b"0")
    tree.watch("/a", lambda event: seen.append(tree.get("/a").data))
    tree.set("/a", b"1")
    settle(tree)
    assert seen == [b"1"]


def test_a_callback_that_writes_does_not_disturb_the_order(tree: Tree) -> None:
    """A write from a callback queues its events behind those already committed."""
    first: list[Event] = []
    second: list[Event] = []

    def react(event: Event) -> None:
        first.append(event)
        if event == NodeEvent(NodeChange.CREATED, "/a/1"):
            tree.set("/a/1", b"by callback")

    tree.create("/a", b"")
    tree.watch("/a", react)
    tree.watch("/a", second.append)
    tree.multi([Create("/a/1"), Create("/a/2")])
    settle(tree)
    tree.delete("/fence")
    settle(tree)
    assert first == second
    assert [(event.change, event.path) for event in first if isinstance(event, NodeEvent)] == [
        (NodeChange.CREATED, "/a/1"),
        (NodeChange.CHILDREN_CHANGED, "/a"),
        (NodeChange.CREATED, "/a/2"),
        (NodeChange.CHILDREN_CHANGED, "/a"),
        (NodeChange.CHANGED, "/a/1"),
    ]


def test_a_failing_callback_does_not_fail_the_write(
    tree: Tree, caplog: pytest.LogCaptureFixture
) -> None:
    """The write has happened; the listener's fault is logged and the others still hear of it."""
    heard: list[Event] = []

    def fail(event: Event) -> None:
        raise RuntimeError("listener is broken")

    tree.watch("/", fail)
    tree.watch("/", heard.append)
    tree.create("/a", b"")
    settle(tree)
    assert NodeEvent(NodeChange.CREATED, "/a") in heard
    assert "listener is broken" in caplog.text


def test_a_closed_session_refuses_everything(tree: Tree) -> None:
    """After close every call raises SessionLost; closing again is harmless."""
    tree.create("/a", b"")
    tree.close()
    tree.close()
    with pytest.raises(SessionLost):
        tree.get("/a")
    with pytest.raises(SessionLost):
        tree.set("/a", b"")
    with pytest.raises(SessionLost):
        tree.watch("/", lambda event: None)
    with pytest.raises(SessionLost):
        tree.multi([])
    with pytest.raises(SessionLost):
        tree.subtrees(["/a"])


def test_data_has_a_limit(tree: Tree) -> None:
    """A node holds what fits into a request of a mebibyte, whether created or set."""
    tree.create("/a", bytes(MAX_DATA_BYTES))
    with pytest.raises(InvalidNode, match="bytes of data"):
        tree.create("/b", bytes(MAX_DATA_BYTES + 1))
    with pytest.raises(InvalidNode, match="bytes of data"):
        tree.set("/a", bytes(MAX_DATA_BYTES + 1))


@pytest.mark.parametrize(
    "path",
    ["", "a", "/a/", "//", "/a//b", "/.", "/a/..", "/a\x00", "/a\n", "/\ue000", "/" + "x" * 1024],
)
def test_bad_paths_are_refused(tree: Tree, path: str) -> None:
    """ZooKeeper's path rules hold for every store, so a tree can move from one to another."""
    with pytest.raises(InvalidNode):
        tree.create(path, b"")
    with pytest.raises(InvalidNode):
        tree.get(path)
    with pytest.raises(InvalidNode):
        tree.exists(path)


@given(st.text(max_size=20))
def test_any_text_is_a_path_or_a_clear_refusal(text: str) -> None:
    """check_path raises nothing but InvalidNode, and a path it takes has a proper parent."""
    try:
        check_path(text)
    except InvalidNode:
        return
    assert is_below(text, parent_of(text))
    assert "//" not in text
