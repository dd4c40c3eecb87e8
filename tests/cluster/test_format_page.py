"""docs/formats/coordination-tree.md is checked against the code that it describes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from headrace.cluster import layout, store
from headrace.cluster.config_owners import DEFAULT_ENTITY, group_owner
from headrace.cluster.image import ConfigChanged, PartitionChanged, PartitionImage
from headrace.cluster.producer_ids import claim_block
from headrace.cluster.topics import NewTopic
from headrace.cluster.writing import ops_for
from headrace.coordination.memory import MemoryStore
from headrace.coordination.sqlite import APPLICATION_ID, SCHEMA_VERSION, SqliteTree
from tests.cluster.clusters import broker, created

PAGE = Path(__file__).parents[2].joinpath("docs/formats/coordination-tree.md").read_text()


def test_the_example_is_what_we_write() -> None:
    """A topic, a change of leader, a group and a claimed block give the nodes on the page."""
    tree = MemoryStore().session()
    store.initialize(tree, lambda: "c")
    for broker_id in (1, 2):
        store.register(tree, broker(broker_id), now_ms=5)
    store.elect_controller(tree, 1, now_ms=5)
    image = store.load_image(tree)
    request = NewTopic("orders", assignments=[(0, [1, 2])], configs={"retention.ms": "86400000"})
    orders = created(image, request)
    tree.multi(ops_for(image, [orders]))
    image.apply([orders])
    after = PartitionImage((1, 2), (2,), leader=2, leader_epoch=1, partition_epoch=1)
    moved = PartitionChanged("orders", 0, after)
    tree.multi(ops_for(image, [moved]))
    image.apply([moved])
    patient = ConfigChanged(group_owner("orders/eu"), {"consumer.session.timeout.ms": "60000"})
    tree.multi(ops_for(image, [patient]))
    claim_block(tree, 1)
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    example = json.loads(block)
    assert {path: json.loads(tree.get(path).data) for path in example} == example


def test_every_path_is_on_the_page() -> None:
    """The nodes that every cluster has are named, and so are those that come later."""
    later = (layout.CLUSTER_ID, layout.CONTROLLER, layout.FEATURES, layout.PRODUCER_ID_BLOCK)
    for path in (*layout.SKELETON, *later):
        assert f"`{path}" in PAGE
    assert DEFAULT_ENTITY in PAGE


def test_the_file_is_as_described(tmp_path: Path) -> None:
    """Column names, application id and schema version."""
    tree = SqliteTree(str(tmp_path / "tree.sqlite"))
    columns = tree._file._db.execute("SELECT name, type FROM pragma_table_info('nodes')").fetchall()
    tree.close()
    described = re.findall(r"^\| `(\w+)` \| ([A-Z]+)", PAGE, re.MULTILINE)
    assert columns == described
    assert f"0x{APPLICATION_ID:X}" in PAGE
    assert f"`user_version` {SCHEMA_VERSION}" in PAGE
