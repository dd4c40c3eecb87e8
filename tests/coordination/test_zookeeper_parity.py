"""The memory tree, on which clusters are simulated, does what ZooKeeper does."""

from __future__ import annotations

import contextlib
import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.coordination.memory import MemoryStore
from headrace.coordination.tree import (
    ANY_VERSION,
    Check,
    Create,
    Delete,
    NodeChange,
    NodeEvent,
    Op,
    Set,
    Tree,
    TreeError,
)
from headrace.coordination.zookeeper import connect
from headrace.coordination.zookeeper.server import ZooKeeperServer
from tests.coordination.listening import Ear
from tests.generated import examples

_examples = itertools.count()

names = st.sampled_from(["a", "b", "é✓"])
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
versions = st.sampled_from([ANY_VERSION, ANY_VERSION, 0, 1, 2])
data = st.binary(max_size=3)
ops: st.SearchStrategy[Op] = st.one_of(
    st.builds(Create, paths, data, st.booleans(), st.booleans()),
    st.builds(Create, paths, data),
    st.builds(Set, paths, data, versions),
    st.builds(Set, st.just("/"), data),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)
Step = Op | list[Op]
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(ops, st.lists(ops, max_size=4)), min_size=1, max_size=25
)


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=steps)
def test_memory_and_zookeeper_agree(zookeeper: ZooKeeperServer, steps: list[Step]) -> None:
    """Random writes give the same results, errors, nodes and events, and one session's end too."""
    store = MemoryStore()
    chroot = f"{zookeeper.connect_string}/parity-{next(_examples)}"
    with contextlib.closing(connect(chroot)) as watching:
        mine, theirs = store.session(), store.session()
        real = connect(chroot)
        heard, expected = Ear(), Ear()
        tree: Tree
        watching.watch("/", heard)
        mine.watch("/", expected)
        for step in steps:
            assert _outcome(real, step) == _outcome(theirs, step), step
        assert watching.subtree("/") == mine.subtree("/")
        assert list(watching.subtree("/")) == list(mine.subtree("/"))
        for tree, ear in ((watching, heard), (mine, expected)):
            _fence(tree, ear, "/written")
        assert heard.events == expected.events
        real.close()
        theirs.close()
        for tree, ear in ((watching, heard), (mine, expected)):
            _fence(tree, ear, "/closed")
        assert watching.subtree("/") == mine.subtree("/")


def _outcome(tree: Tree, step: Step) -> object:
    """What one call returned or raised."""
    try:
        return _call(tree, step)
    except TreeError as error:
        return type(error), error.path, error.op_index


def _call(tree: Tree, step: Step) -> object:
    match step:
        case Create(path, data, ephemeral, sequential):
            return tree.create(path, data, ephemeral=ephemeral, sequential=sequential)
        case Set(path, data, version):
            return tree.set(path, data, version)
        case Delete(path, version):
            tree.delete(path, version)
        case Check():
            tree.multi([step])
        case _:
            tree.multi(step)
    return None


def _fence(tree: Tree, ear: Ear, path: str) -> None:
    """Wait until everything committed so far was heard."""
    tree.create(path, b"")
    last = [NodeEvent(NodeChange.CREATED, path), NodeEvent(NodeChange.CHILDREN_CHANGED, "/")]
    ear.wait_until(lambda: ear.events[-2:] == last)
